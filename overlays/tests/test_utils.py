"""The two helpers of the test utilities that the benchmark programs use."""

import logging
import os

from sglang.srt.utils import get_bool_env_var

logger = logging.getLogger(__name__)


def is_in_ci():
    """Whether this process runs under continuous integration."""
    return get_bool_env_var("SGLANG_IS_IN_CI")


def write_github_step_summary(content):
    """Append `content` to the step summary of the running workflow, if there is one."""
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if not summary:
        logger.warning("GITHUB_STEP_SUMMARY is not set, the summary is not written")
        return
    with open(summary, "a", encoding="utf-8") as f:
        f.write(content)
