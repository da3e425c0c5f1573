"""Separates what a DeepSeek model thinks from what it answers.

Two formats, both between `<think>` and `</think>`: R1 always thinks and may leave out the first tag;
V3, V3.1 and V3.2 think when they are asked to.
"""

from typing import ClassVar


class StreamingParseResult:
    """The two parts of a piece of output; a missing part is an empty string."""

    def __init__(
        self,
        normal_text: str | None = None,
        reasoning_text: str | None = None,
    ):
        self.normal_text = normal_text or ""
        self.reasoning_text = reasoning_text or ""


class BaseReasoningFormatDetector:
    """Splits output at a pair of tags, for a whole text or for one that arrives in pieces.

    `force_reasoning`: the text starts inside the reasoning, with or without the first tag.
    `stream_reasoning`: pass reasoning on as it arrives; otherwise hold it back until it is complete.
    """

    def __init__(
        self,
        think_start_token: str,
        think_end_token: str,
        force_reasoning: bool = False,
        stream_reasoning: bool = True,
    ):
        self.think_start_token = think_start_token
        self.think_end_token = think_end_token
        self.stream_reasoning = stream_reasoning
        self.stripped_think_start = False
        self._in_reasoning = force_reasoning
        self._buffer = ""

    def detect_and_parse(self, text: str) -> StreamingParseResult:
        """Split a whole text. Reasoning without an end was cut off, so that all of it is reasoning."""
        if not self._in_reasoning and self.think_start_token not in text:
            return StreamingParseResult(normal_text=text)

        body = text.replace(self.think_start_token, "").strip()
        reasoning, end, answer = body.partition(self.think_end_token)
        return StreamingParseResult(normal_text=answer.strip() if end else None, reasoning_text=reasoning)

    def parse_streaming_increment(self, new_text: str) -> StreamingParseResult:
        """Split the next piece of a text. What may be the beginning of a tag waits for its rest."""
        self._buffer += new_text
        if self._may_become_tag(self._buffer):
            return StreamingParseResult()

        text = self._buffer
        if not self.stripped_think_start and self.think_start_token in text:
            text = text.replace(self.think_start_token, "")
            self.stripped_think_start = True
            self._in_reasoning = True

        if not self._in_reasoning:
            self._buffer = ""
            return StreamingParseResult(normal_text=text)

        reasoning, end, answer = text.partition(self.think_end_token)
        if end:
            self._buffer = ""
            self._in_reasoning = False
            return StreamingParseResult(normal_text=answer, reasoning_text=reasoning.rstrip())
        if self.stream_reasoning:
            self._buffer = ""
            return StreamingParseResult(reasoning_text=text)
        return StreamingParseResult()

    def _may_become_tag(self, text: str) -> bool:
        tags = (self.think_start_token, self.think_end_token)
        return any(tag != text and tag.startswith(text) for tag in tags)


class DeepSeekR1Detector(BaseReasoningFormatDetector):
    """DeepSeek R1 (without the first tag) and R1-0528 (with it): reasoning comes first, always."""

    def __init__(self, stream_reasoning: bool = True, force_reasoning: bool = True):
        # The model leaves out the first tag whatever the request says.
        super().__init__(
            "<think>",
            "</think>",
            force_reasoning=True,
            stream_reasoning=stream_reasoning,
        )


class Qwen3Detector(BaseReasoningFormatDetector):
    """DeepSeek V3, V3.1 and V3.2: reasoning on demand.

    The name is upstream's, where the models that share the format share the class.
    """

    def __init__(self, stream_reasoning: bool = True, force_reasoning: bool = False):
        super().__init__(
            "<think>",
            "</think>",
            force_reasoning=force_reasoning,
            stream_reasoning=stream_reasoning,
        )


class ReasoningParser:
    """The detector of a kind of model (`--reasoning-parser`), for streams and whole texts."""

    DetectorMap: ClassVar[dict[str, type[BaseReasoningFormatDetector]]] = {
        "deepseek-r1": DeepSeekR1Detector,
        "deepseek-v3": Qwen3Detector,
    }

    def __init__(
        self,
        model_type: str | None = None,
        stream_reasoning: bool = True,
        force_reasoning: bool | None = None,
    ):
        if not model_type:
            raise ValueError("Model type must be specified")
        detector = self.DetectorMap.get(model_type.lower())
        if detector is None:
            raise ValueError(f"Unsupported model type: {model_type}")

        options = {"stream_reasoning": stream_reasoning}
        # Not set: the detector's own default decides.
        if force_reasoning is not None:
            options["force_reasoning"] = force_reasoning
        self.detector = detector(**options)

    def parse_non_stream(self, full_text: str) -> tuple[str | None, str | None]:
        """(reasoning, answer) of a whole text."""
        result = self.detector.detect_and_parse(full_text)
        return result.reasoning_text, result.normal_text

    def parse_stream_chunk(self, chunk_text: str) -> tuple[str | None, str | None]:
        """(reasoning, answer) that the next piece of a stream completes."""
        result = self.detector.parse_streaming_increment(chunk_text)
        return result.reasoning_text, result.normal_text
