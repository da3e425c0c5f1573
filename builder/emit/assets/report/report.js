"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";

  /** An element with attributes and children; strings become text, so nothing of the data is ever markup. */
  function make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value !== undefined && value !== null) element.setAttribute(key, value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
    return element;
  }
  function draw(name, attributes, parent) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    parent.append(element);
    return element;
  }
  const count = (number) => number.toLocaleString("en-US");
  const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
  const link = (kind, name, text = name) => make("a", { href: `#${kind}=${encodeURIComponent(name)}` }, text);
  const chip = (state) => make("span", { class: `chip ${state}` }, state);
  const path = (text) => make("span", { class: "path" }, text);

  async function unpack() {
    const text = byId("data").textContent.trim();
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  function start(data) {
    const STATES = data.states;
    const files = data.files.map((row, number) => ({
      number, path: row[0], state: STATES[row[1]], before: row[2] ?? 0, after: row[3] ?? 0,
      bytes: row[4] ?? row[5] ?? 0, reasons: row[6], back: row[7], emptied: row[8], uncertain: false,
    }));
    for (const number of data.uncertain.modules) files[number].uncertain = true;
    const fileAt = new Map(files.map((file) => [file.path, file]));
    const batchAt = new Map(data.batches.map((batch) => [batch.id, batch]));
    const diffAt = new Map(data.diffs);
    const moduleOf = new Map(data.ways.modules.map((row, number) => [row[1], number]));
    const shade = (file) => (file.uncertain ? "uncertain" : file.state);

    // -- reasons ---------------------------------------------------------------------------------

    function reasonItem(number) {
      const [batch, rule, place] = data.reasons[number];
      const name = batchAt.get(batch)?.stated ? link("batch", batch) : make("b", {}, batch);
      return make("li", {}, name, `: ${rule} `, place ? make("code", { class: "why" }, place) : null);
    }
    function reasonList(numbers, most = 10) {
      const list = make("ul", { class: "plain" }, ...numbers.slice(0, most).map(reasonItem));
      if (numbers.length > most) {
        const more = make("button", { type: "button" }, `${count(numbers.length - most)} more`);
        more.addEventListener("click", () => list.replaceWith(reasonList(numbers, numbers.length)));
        list.append(make("li", {}, more));
      }
      return list;
    }
    function batchWhy(numbers) {
      const batch = numbers.length ? batchAt.get(data.reasons[numbers[0]][0]) : undefined;
      return batch?.stated ? make("p", { class: "why" }, batch.why) : null;
    }
    /** A sentence in which `...` is code. */
    function sentence(text) {
      const parts = text.split("`");
      return parts.map((part, number) => (number % 2 ? make("code", {}, part) : part));
    }
    const backLine = (number) => (number < 0 ? null : make("p", {}, ...sentence(`${data.texts[number]}.`)));

    // -- answers ---------------------------------------------------------------------------------

    function wayTo(number) {
      let at = moduleOf.get(number);
      if (at === undefined) return null;
      const steps = [];
      const sort = data.ways.starts[data.ways.modules[at][2]];
      while (data.ways.modules[at][3] >= 0) {
        const [module, , , from, kind, line] = data.ways.modules[at];
        const source = data.ways.modules[from];
        const place = source[1] >= 0 && line ? `, ${files[source[1]].path}:${line}` : "";
        steps.unshift(make("li", {}, path(`${source[0]} → ${module}`), make("span", { class: "why" }, ` ${kind}${place}`)));
        at = from;
      }
      if (!steps.length) return make("p", {}, `It is ${sort}.`);
      return make("div", {}, make("p", {}, `The shortest way from ${sort}:`), make("ol", { class: "plain" }, ...steps));
    }
    function sizes(file) {
      if (file.state === "removed") return plural(file.before, "line");
      if (file.state === "added") return plural(file.after, "line");
      return file.state === "kept" ? plural(file.before, "line") : `${count(file.before)} → ${plural(file.after, "line")}`;
    }
    const SAID = {
      kept: "is kept as upstream has it", edited: "is kept and edited", removed: "is removed", added: "is added",
    };
    function fileAnswer(file) {
      const emptied = file.emptied >= 0 ? `: ${data.texts[file.emptied]}` : "";
      const parts = [make("p", {}, `${file.path} ${SAID[file.state]}${emptied} (${sizes(file)}).`)];
      if (file.state !== "removed" && file.path.endsWith(".py")) {
        parts.push(wayTo(file.number) ?? make("p", {}, "It is no module, or no root reaches it."));
      }
      if (file.uncertain) parts.push(make("p", {}, "It is uncertain: a rule keeps it, and no root reaches it."));
      parts.push(reasonList(file.reasons), file.state === "removed" ? batchWhy(file.reasons) : null, backLine(file.back));
      if (file.state === "kept" || file.state === "edited") {
        parts.push(make("p", {}, "to leave it out: add ", make("code", {}, file.path), " to ", make("code", {}, "remove"),
          " of a batch; the build then names what still uses it."));
      }
      const folder = file.path.includes("/") ? file.path.slice(0, file.path.lastIndexOf("/") + 1) : "";
      parts.push(make("p", {}, link("folder", folder, "Its folder on the map")));
      const hunks = diffAt.get(file.number);
      if (hunks) parts.push(diffView(hunks));
      return parts;
    }
    function surfaceAnswer(row) {
      return [make("p", {}, `${row.headline}.`), make("p", { class: "why" }, path(row.place)), reasonList(row.reasons),
        batchWhy(row.reasons), backLine(row.back)];
    }
    function requirementAnswer(row) {
      const [file, extra, name, before, after, state, reasons, back] = row;
      return [make("p", {}, `requirement ${name} of ${file}${extra ? ` (extra ${extra})` : ""} is ${state}.`),
        make("p", {}, "upstream ", make("code", {}, before ?? "none"), ", here ", make("code", {}, after ?? "none")),
        reasonList(reasons), batchWhy(reasons), backLine(back)];
    }
    function definitionAnswer(file, name, gone) {
      const state = gone ? "removed" : file.state === "edited" ? "kept" : file.state;
      const said = gone && gone[1] >= 0 ? `: ${data.texts[gone[1]]}` : "";
      return [make("p", {}, `${name} of ${file.path} is ${state}${said}.`), gone ? reasonList(gone[2]) : null,
        make("h3", {}, "Its file"), ...fileAnswer(file)];
    }
    function batchAnswer(batch) {
      const parts = [make("p", {}, batch.why)];
      if (!batch.stated) return parts;
      const needs = batch.needs.length ? [", which switches off what it needs off, too: ", batch.needs.join(", ")] : [];
      const flag = batch.needs.length ? " --with-needs" : "";
      parts.push(
        make("p", { class: "why" }, make("code", {}, batch.mark), ` · ${batch.kind}`),
        make("p", {}, "to switch it off: ", make("code", {}, `dist --without ${batch.id}${flag}`), ...needs),
      );
      const folders = new Map();
      for (const file of files) {
        if (file.state !== "removed" || data.reasons[file.reasons[0]][0] !== batch.id) continue;
        const folder = `${file.path.split("/").slice(0, -1).slice(0, 4).join("/")}/`;
        const sum = folders.get(folder) ?? [0, 0];
        folders.set(folder, [sum[0] + 1, sum[1] + file.before]);
      }
      const largest = [...folders].sort((a, b) => b[1][1] - a[1][1] || (a[0] < b[0] ? -1 : 1));
      if (largest.length) {
        parts.push(make("p", {}, "Removed:"), make("ul", { class: "plain" }, ...largest.slice(0, 8).map(([folder, sum]) =>
          make("li", {}, link("folder", folder === "/" ? "" : folder, folder), `: ${plural(sum[0], "file")}, ${plural(sum[1], "line")}`))));
        if (largest.length > 8) parts.push(make("p", { class: "why" }, `and ${plural(largest.length - 8, "folder")} more`));
      }
      const lost = data.surface.filter((row) => row.state === "removed" && row.batch === batch.id);
      for (const [title, rows] of grouped(lost, sortOf)) {
        parts.push(make("p", {}, `${title} removed: `, ...rows.slice(0, 40).flatMap((row, number) =>
          [number ? ", " : "", make("code", {}, row.name)]), rows.length > 40 ? ` and ${count(rows.length - 40)} more` : ""));
      }
      const edits = files.filter((file) => file.state === "edited" && data.reasons[file.reasons[0]][0] === batch.id);
      if (edits.length) {
        parts.push(make("p", {}, "Edited: ", ...edits.slice(0, 12).flatMap((file, number) =>
          [number ? ", " : "", link("why", file.path)]), edits.length > 12 ? ` and ${count(edits.length - 12)} more` : ""));
      }
      return parts;
    }
    function grouped(rows, key) {
      const found = new Map();
      for (const row of rows) found.set(key(row), [...(found.get(key(row)) ?? []), row]);
      return found;
    }

    // -- the surface -----------------------------------------------------------------------------

    const SORTS = ["Server flags", "Flags of tools", "HTTP routes", "Environment variables", "Registries", "Commands"];
    const KINDS = { route: 2, environment: 3, registry: 4, script: 5 };
    const sortOf = (row) => SORTS[row.kind === "flag" ? (row.group === data.server ? 0 : 1) : KINDS[row.kind]];
    data.surface = data.surface.map(([kind, group, name, state, place, headline, reasons, back]) => ({
      kind, group, name, state, place, headline, reasons, back,
      batch: reasons.length ? data.reasons[reasons[0]][0] : "",
    }));
    for (const sort of SORTS) {
      const rows = data.surface.filter((row) => sortOf(row) === sort);
      const left = rows.filter((row) => row.state === "removed").length;
      if (rows.length) byId("kind").append(make("option", { value: sort }, `${sort} (${count(left)} of ${count(rows.length)} removed)`));
    }
    function tableOf(heads, rows) {
      const cells = (kind, row) => row.map((cell, number) =>
        make(kind, { class: heads[number][1], scope: kind === "th" ? "col" : null }, ...(Array.isArray(cell) ? cell : [cell])));
      return make("table", {}, make("thead", {}, make("tr", {}, ...cells("th", heads.map((head) => head[0])))),
        make("tbody", {}, ...rows.map((row) => make("tr", {}, ...cells("td", row)))));
    }
    const batchCell = (batch) => (batchAt.get(batch)?.stated ? link("batch", batch) : batch);
    function showSurface() {
      const wanted = byId("state").value;
      const rows = data.surface.filter((row) => sortOf(row) === byId("kind").value &&
        (wanted === "changed" ? row.state !== "kept" : !wanted || row.state === wanted));
      // of what has one home, such as the server's flags, the place alone tells more
      const homes = new Set(rows.map((row) => row.group)).size > 1;
      byId("surfacelist").replaceChildren(rows.length ? tableOf(
        [["Name", "name"], ["", ""], [homes ? "Of" : "Place", "name"], ["What became of it", ""], ["Batch", ""]],
        rows.map((row) => [link("surface", `${row.kind}:${row.group}:${row.name}`, row.name), chip(row.state),
          path(homes ? row.group : row.place), row.headline.split(" is ").slice(1).join(" is "), batchCell(row.batch)]),
      ) : make("p", {}, "None."));
    }
    byId("kind").addEventListener("change", showSurface);
    byId("state").addEventListener("change", showSurface);

    // -- diffs -----------------------------------------------------------------------------------

    function diffView(hunks) {
      const box = make("div", {});
      for (const [text, reasons] of hunks) {
        const lines = text.replace(/\n$/, "").split("\n");
        const sign = { "-": "m", "+": "p", "@": "h" };
        box.append(reasonList(reasons, 3), make("pre", { class: "diff", tabindex: "0" },
          ...lines.map((line) => make("span", { class: sign[line[0]] }, line || " "))));
      }
      return box;
    }
    function lazily(details, fill) {
      details.addEventListener("toggle", () => {
        if (details.open && details.children.length === 1) details.append(make("div", {}, ...fill()));
      });
      return details;
    }
    const edited = files.filter((file) => file.state === "edited")
      .sort((a, b) => b.before - b.after - (a.before - a.after) || (a.path < b.path ? -1 : 1));
    const editBatches = [...new Set(edited.flatMap((file) => file.reasons.map((number) => data.reasons[number][0])))].sort();
    byId("editbatch").append(make("option", { value: "" }, "any"), ...editBatches.map((id) => make("option", { value: id }, id)));
    function showEdits() {
      const batch = byId("editbatch").value, part = byId("editpath").value.trim();
      const rows = edited.filter((file) => file.path.includes(part) &&
        (!batch || file.reasons.some((number) => data.reasons[number][0] === batch)));
      byId("editcount").textContent = plural(rows.length, "file");
      byId("editlist").replaceChildren(...rows.map((file) => {
        const hunks = diffAt.get(file.number);
        const names = [...new Set(file.reasons.map((number) => data.reasons[number][0]))];
        const listed = names.slice(0, 4).join(", ") + (names.length > 4 ? ` and ${names.length - 4} more` : "");
        return lazily(make("details", {}, make("summary", {}, path(file.path), " ",
          make("span", { class: "figures" }, `${sizes(file)} · ${listed}`))), () => (hunks
          ? [diffView(hunks.filter(([, reasons]) => !batch || reasons.some((number) => data.reasons[number][0] === batch)))]
          : [make("p", {}, "Its content is not text, or only its mode changed."), reasonList(file.reasons)]));
      }));
    }
    byId("editbatch").addEventListener("change", showEdits);
    byId("editpath").addEventListener("input", showEdits);

    // -- the treemap -----------------------------------------------------------------------------

    const MEASURES = {
      lines: (file) => (file.state === "added" ? file.after : file.before),
      left: (file) => file.after,
      bytes: (file) => file.bytes,
    };
    const top = { name: "", path: "", children: new Map() };
    for (const file of files) {
      let node = top;
      const parts = file.path.split("/");
      for (const part of parts.slice(0, -1)) {
        if (!node.children.has(part)) node.children.set(part, { name: part, path: `${node.path}${part}/`, children: new Map() });
        node = node.children.get(part);
      }
      node.children.set(parts[parts.length - 1], { name: parts[parts.length - 1], path: file.path, file });
    }
    // where nearly everything lies in one folder, the map begins there
    let start = top;
    for (;;) {
      const only = [...start.children.values()].find((child) => child.children && totals(child).files > 0.9 * totals(start).files);
      if (!only) break;
      start = only;
    }
    let folder = start.path;
    function nodeAt(wanted) {
      let node = top;
      for (const part of wanted.split("/").filter(Boolean)) {
        const next = node.children?.get(part);
        if (!next?.children) break;
        node = next;
      }
      return node;
    }
    function totals(node, sums = { kept: 0, edited: 0, removed: 0, added: 0, uncertain: 0, before: 0, after: 0, files: 0 }) {
      if (node.file) {
        sums.files += 1;
        sums.before += node.file.before;
        sums.after += node.file.after;
        if (node.file.state === "added") sums.added += node.file.after;
        else {
          sums.removed += Math.max(0, node.file.before - node.file.after);
          sums[shade(node.file)] += node.file.state === "removed" ? 0 : Math.min(node.file.before, node.file.after);
        }
      } else for (const child of node.children.values()) totals(child, sums);
      return sums;
    }
    const SHADES = ["kept", "edited", "uncertain", "added", "removed"];
    byId("legend").append(...SHADES.map(chip));
    const open = (node) => (node.file ? `#why=${encodeURIComponent(node.path)}` : `#folder=${encodeURIComponent(node.path)}`);
    const about = (node) => {
      if (node.file) return `${node.path}: ${shade(node.file)}, ${sizes(node.file)}`;
      const sums = totals(node);
      return `${node.path}: ${plural(sums.files, "file")}, ${count(sums.before)} → ${plural(sums.after, "line")}`;
    };
    function showMap() {
      const node = nodeAt(folder), width = Math.max(260, byId("treemap").clientWidth), height = width < 600 ? 420 : 520;
      const value = MEASURES[byId("measure").value];
      const root = d3.hierarchy(node, (one) => (one.children ? [...one.children.values()] : null))
        .sum((one) => (one.file ? value(one.file) : 0)).sort((a, b) => b.value - a.value || (a.data.name < b.data.name ? -1 : 1));
      d3.treemap().size([width, height]).paddingInner(1).paddingTop((one) =>
        (one.depth && one.depth < 3 && one.x1 - one.x0 > 44 && one.y1 - one.y0 > 34 ? 17 : one.depth ? 1 : 0))(root);
      const svg = document.createElementNS(SVG, "svg");
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      svg.setAttribute("height", height);
      svg.setAttribute("role", "group");
      svg.setAttribute("aria-label", `The files of ${node.path || "the top folder"}`);
      const pattern = draw("pattern", { id: "gone", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, draw("defs", {}, svg));
      draw("rect", { width: 1.5, height: 6, fill: "var(--mark)" }, pattern);
      // one path for all hatching: printing a pattern takes a browser long
      const hatched = [], labels = document.createElementNS(SVG, "g");
      for (const child of root.children ?? []) drawChild(child, svg, hatched, labels);
      draw("path", { d: hatched.join(""), fill: "url(#gone)", "pointer-events": "none" }, svg);
      svg.append(labels);
      svg.addEventListener("keydown", (event) => moveFocus(event, null));
      byId("treemap").replaceChildren(svg);
      showCrumbs(node);
      showFolder(node);
    }
    function drawChild(child, svg, hatched, labels) {
      if (!child.value) return;
      const group = draw("a", { href: open(child.data), "aria-label": about(child.data) }, svg);
      draw("rect", { class: "hit", x: child.x0, y: child.y0, width: child.x1 - child.x0, height: child.y1 - child.y0 }, group);
      draw("title", {}, group).textContent = about(child.data);
      for (const leaf of child.leaves()) drawFile(leaf, group, hatched);
      for (const one of child.descendants()) {
        const wide = one.x1 - one.x0, high = one.y1 - one.y0;
        const heading = one.children && one.depth < 3 && wide > 44 && high > 34;
        if (!heading && !(one.depth === 1 && wide > 60 && high > 18)) continue;
        const most = Math.floor((wide - 8) / 6.6);
        const text = one.data.name + (one.children ? "/" : "");
        draw("text", { x: one.x0 + 4, y: one.y0 + 12.5 }, labels).textContent = text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text;
      }
      draw("rect", { class: "frame", x: child.x0, y: child.y0, width: child.x1 - child.x0, height: child.y1 - child.y0 }, group);
    }
    function drawFile(leaf, group, hatched) {
      const wide = leaf.x1 - leaf.x0, high = leaf.y1 - leaf.y0, file = leaf.data.file;
      if (!file || wide <= 0.2 || high <= 0.2) return;
      const cell = draw("rect", { x: leaf.x0, y: leaf.y0, width: wide, height: high, class: shade(file) }, group);
      draw("title", {}, cell).textContent = about(leaf.data);
      // the part of an edited file that left, as a share of its area
      const shrunk = file.state === "edited" && byId("measure").value === "lines" && file.before > file.after;
      const gone = high * (file.state === "removed" ? 1 : shrunk ? 1 - file.after / file.before : 0);
      if (gone < 0.5) return;
      if (shrunk) draw("rect", { x: leaf.x0, y: leaf.y1 - gone, width: wide, height: gone, class: "removed", "pointer-events": "none" }, group);
      hatched.push(`M${leaf.x0.toFixed(1)} ${(leaf.y1 - gone).toFixed(1)}h${wide.toFixed(1)}v${gone.toFixed(1)}h${(-wide).toFixed(1)}z`);
    }
    // `before`: what is in front of the first link
    function moveFocus(event, before) {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const all = [...event.currentTarget.querySelectorAll("a")];
      const at = all.indexOf(document.activeElement);
      if (!step || at < 0) return;
      event.preventDefault();
      (before && at + step < 0 ? before : all[(at + step + all.length) % all.length]).focus();
    }
    function showCrumbs(node) {
      const parts = node.path.split("/").filter(Boolean);
      byId("crumbs").replaceChildren(link("folder", "", "upstream"), ...parts.flatMap((part, number) =>
        [" / ", number + 1 < parts.length ? link("folder", `${parts.slice(0, number + 1).join("/")}/`, part) : make("b", {}, part)]));
    }
    function showFolder(node) {
      const rows = [...(node.children?.values() ?? [])].map((child) => ({ child, sums: totals(child) }))
        .sort((a, b) => b.sums.before + b.sums.added - a.sums.before - a.sums.added || (a.child.name < b.child.name ? -1 : 1));
      const bar = (sums) => {
        const whole = SHADES.reduce((sum, shadeName) => sum + sums[shadeName], 0) || 1;
        return make("span", { class: "share", "aria-hidden": "true" }, ...SHADES.filter((one) => sums[one]).map((one) =>
          make("span", { class: one, style: `width:${(100 * sums[one]) / whole}%` })));
      };
      byId("folder").replaceChildren(tableOf(
        [["Name", "name"], ["", ""], ["Files", "n"], ["Lines before", "n"], ["after", "n"], ["", ""]],
        rows.map(({ child, sums }) => [make("a", { href: open(child) }, child.name + (child.file ? "" : "/")),
          child.file ? chip(shade(child.file)) : "", count(sums.files), count(sums.before), count(sums.after), bar(sums)]),
      ));
    }
    byId("measure").addEventListener("change", showMap);
    let width = window.innerWidth;
    window.addEventListener("resize", () => {
      if (window.innerWidth !== width) { width = window.innerWidth; showMap(); }
    });

    // -- batches, requirements, evidence ---------------------------------------------------------

    function showBatches() {
      byId("batchlist").replaceChildren(...data.batches.filter((batch) => batch.stated || batch.files.removed || batch.files.edited || batch.files.added)
        .map((batch) => {
          const less = batch.lines.removed + batch.lines.edited_away - batch.lines.added;
          const done = ["removed", "edited", "added"].filter((one) => batch.files[one]).map((one) => `${count(batch.files[one])} ${one}`);
          return lazily(make("details", { id: `batch-${batch.id}` }, make("summary", {}, make("b", {}, batch.id), " ",
            make("span", { class: "figures" }, `${done.join(", ") || "no file of this upstream"} · ${count(less)} lines less`),
            make("span", { class: "why" }, ` — ${batch.why}`))), () => batchAnswer(batch));
        }));
    }
    function showRequirements() {
      byId("requirementlist").replaceChildren(tableOf(
        [["Name", "name"], ["", ""], ["Extra", ""], ["Upstream", "name"], ["Here", "name"], ["Batch", ""]],
        data.requirements.map((row) => [link("requirement", `${row[0]}:${row[1]}:${row[2]}`, row[2]), chip(row[5]), row[1], row[3] ?? "", row[4] ?? "",
          row[6].length ? batchCell(data.reasons[row[6][0]][0]) : ""]),
      ));
    }
    function showEvidence() {
      const build = data.build;
      const command = (text) => make("pre", { class: "command", tabindex: "0" }, text);
      const rows = data.uncertain.conditions.map(([file, line, why]) => [[path(`${file}:${line}`)], why]);
      byId("evidencelist").replaceChildren(
        make("p", {}, `The output was written, so every gate accepted it: each compares the output with upstream. ` +
          `Specialization ended after ${plural(build.rounds, "round")}.`),
        make("details", {}, make("summary", {}, `Why a gate stops a build: ${count(data.gates.length)} reasons`),
          make("ul", { class: "plain" }, ...data.gates.map(([code, meaning]) => make("li", {}, make("code", {}, code), ` ${meaning}`)))),
        make("p", {}, "The patch, the tree, the sums and the wheel are checked without the builder by"),
        command("make verify-dist OUT=dist UPSTREAM_GIT=/path/to/upstream.git"),
        make("p", {}, "and the behaviour beside upstream’s by"), command("make verify OUT=dist"),
        make("details", {}, make("summary", {}, `Modules that are kept without proof that they are needed: ${count(data.uncertain.modules.length)}`),
          make("ul", { class: "plain" }, ...data.uncertain.modules.map((number) => make("li", {}, link("why", files[number].path))))),
        make("details", {}, make("summary", {}, `Conditions that were left alone: ${count(rows.length)}`),
          rows.length ? make("div", { class: "scroll" }, tableOf([["Place", "name"], ["Why", ""]], rows)) : make("p", {}, "None.")),
      );
    }
    function showTotals() {
      const build = data.build, lines = data.lines[data.code];
      byId("identity").append(make("code", {}, build.wheel || build.version), ` from ${build.spec}`,
        build.commit && build.commit !== build.spec ? `, commit ${build.commit}` : "",
        `; tree ${build.tree}; scope ${build.scope}`, build.with.length ? `, with ${build.with.join(", ")}` : "", build.without.length ? `, without ${build.without.join(", ")}` : "");
      const number = (state) => files.filter((file) => file.state === state).length;
      const tiles = [
        ["lines of code", count(lines.after), `of ${count(lines.before)}, ${lines.before ? ((100 * lines.after) / lines.before).toFixed(1) : 0}%`],
        ["files kept", count(number("kept")), "as upstream has them"],
        ["files edited", count(number("edited")), ""],
        ["files removed", count(number("removed")), ""],
        ["files added", count(number("added")), ""],
        ["server flags removed", count(data.surface.filter((row) => sortOf(row) === SORTS[0] && row.state === "removed").length),
          `of ${count(data.surface.filter((row) => sortOf(row) === SORTS[0]).length)}`],
      ];
      byId("totals").append(...tiles.map(([title, value, more]) => make("div", {}, make("dt", {}, title), make("dd", {}, value, " ", make("small", {}, more)))));
    }

    // -- the search ------------------------------------------------------------------------------

    const entries = [];
    const RANKS = { batch: 2, surface: 3, requirement: 4, why: 5, folder: 6, definition: 7 };
    const entry = (kind, name, state, key, more = "", where = "", rank = RANKS[kind]) =>
      entries.push({ kind, name, state, key, where, rank, low: name.toLowerCase(), more: more.toLowerCase() });
    for (const batch of data.batches) if (batch.stated) entry("batch", batch.id, "stated", batch.id);
    // what most people ask for: the server's flags, then architectures
    const rankOf = (row) => (sortOf(row) === SORTS[0] ? 0 : row.kind === "registry" && row.group === data.models ? 1 : RANKS.surface);
    for (const row of data.surface) entry("surface", row.name, row.state, `${row.kind}:${row.group}:${row.name}`, row.headline, `${row.kind} ${row.group}`, rankOf(row));
    for (const row of data.requirements) entry("requirement", row[2], row[5], `${row[0]}:${row[1]}:${row[2]}`, "", row[1] ? `extra ${row[1]}` : row[0]);
    for (const file of files) entry("why", file.path, file.state, file.path);
    (function folders(node) {
      for (const child of node.children.values()) if (child.children) { entry("folder", child.path, "mixed", child.path); folders(child); }
    })(top);
    for (const [number, names, gone] of data.definitions) {
      const file = files[number], state = file.state === "edited" ? "kept" : file.state;
      for (const name of names ? names.split(" ") : []) entry("definition", name, state, `${file.path}:${name}`, "", file.path);
      for (const [name] of gone) entry("definition", name, "removed", `${file.path}:${name}`, "", file.path);
    }
    function score(one, low, dotted) {
      if (one.low === low) return 0;
      if (one.low.replace(/^-+/, "") === low.replace(/_/g, "-")) return 1;
      if (one.low.endsWith(`/${low}`) || one.low.endsWith(`.${low}`) || one.low.endsWith(` ${low}`)) return 2;
      if (dotted && one.kind === "why" && one.low.endsWith(dotted)) return 2;
      if (one.low.startsWith(low)) return 3;
      if (one.low.includes(low)) return 4;
      return one.more && one.more.includes(low) ? 5 : -1;
    }
    const MOST = 30;
    function search() {
      const low = byId("query").value.trim().toLowerCase().replace(/^\.\//, "");
      byId("results").replaceChildren();
      byId("answer").replaceChildren(); // it is of another query
      byId("count").textContent = "";
      if (low.length < 2) return;
      const dotted = /^[\w.]+$/.test(low) && low.includes(".") ? `${low.replace(/\./g, "/")}.py` : "";
      const found = entries.map((one) => [score(one, low, dotted), one]).filter(([points]) => points >= 0)
        .sort((a, b) => a[0] - b[0] || a[1].rank - b[1].rank || a[1].name.length - b[1].name.length || (a[1].key < b[1].key ? -1 : 1));
      byId("count").textContent = found.length > MOST ? `${count(found.length)} found, the nearest ${MOST} shown` : `${count(found.length)} found`;
      byId("results").append(...found.slice(0, MOST).map(([, one]) => make("li", {}, chip(one.state), " ", link(one.kind, one.key, one.name),
        one.where ? make("span", { class: "why" }, ` ${one.where}`) : null)));
    }
    byId("query").addEventListener("input", search);
    byId("query").addEventListener("keydown", (event) => {
      const first = byId("results").querySelector("a");
      if (event.key === "Enter" && first) first.click();
      if (event.key === "ArrowDown" && first) { event.preventDefault(); first.focus(); }
    });
    byId("results").addEventListener("keydown", (event) => moveFocus(event, byId("query")));

    // -- places in the page ----------------------------------------------------------------------

    function answer(title, parts) {
      byId("answer").replaceChildren(make("h3", {}, title), ...parts.filter(Boolean));
      byId("answer").scrollIntoView({ block: "nearest" });
      byId("answer").focus({ preventScroll: true });
    }
    const GO = {
      why: (name) => { const file = fileAt.get(name); if (file) answer(name, fileAnswer(file)); },
      folder: (name) => {
        const from = ["treemap", "folder", "crumbs"].map(byId).find((one) => one.contains(document.activeElement));
        folder = nodeAt(name).path;
        showMap();
        byId("map").scrollIntoView();
        from?.querySelector("a")?.focus({ preventScroll: true }); // the link that had the focus is gone
      },
      surface: (name) => { const row = data.surface.find((one) => `${one.kind}:${one.group}:${one.name}` === name); if (row) answer(row.name, surfaceAnswer(row)); },
      requirement: (name) => { const row = data.requirements.find((one) => `${one[0]}:${one[1]}:${one[2]}` === name); if (row) answer(row[2], requirementAnswer(row)); },
      definition: (name) => {
        const at = name.lastIndexOf(":"), file = fileAt.get(name.slice(0, at)), symbol = name.slice(at + 1);
        const row = file && data.definitions.find((one) => one[0] === file.number);
        if (row) answer(symbol, definitionAnswer(file, symbol, row[2].find((one) => one[0] === symbol)));
      },
      batch: (name) => {
        const details = byId(`batch-${name}`);
        if (details) { details.open = true; details.scrollIntoView(); details.querySelector("summary").focus({ preventScroll: true }); }
      },
    };
    function follow() {
      const [, kind, name] = /^#(\w+)=(.*)$/s.exec(location.hash) ?? [];
      if (kind && Object.hasOwn(GO, kind)) GO[kind](decodeURIComponent(name));
    }
    window.addEventListener("hashchange", follow);
    window.addEventListener("beforeprint", () => {
      for (const details of document.querySelectorAll("#batchlist details, #evidencelist details")) details.open = true;
    });

    showTotals();
    showMap();
    showBatches();
    showSurface();
    showRequirements();
    showEdits();
    showEvidence();
    follow();
    document.documentElement.dataset.ready = "yes";
  }

  unpack().then(start).catch((error) => {
    byId("failure").hidden = false;
    byId("failure").textContent = `This browser cannot show the page (${error.message}); REMOVED.md has the same facts.`;
    throw error;
  });
})();
