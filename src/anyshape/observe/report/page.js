"use strict";
// Everything that is shown comes from the JSON in the page, and is written as text, never as HTML.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const ROW = 24; // pixels, as in the style
  const SPARE = 10; // rows beyond those in sight

  // ---------------------------------------------------------------- elements

  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "onclick") element.addEventListener("click", value);
      else if (value !== null && value !== undefined) element.setAttribute(name, value);
    }
    for (const child of children) {
      if (child !== null && child !== undefined) element.append(child);
    }
    return element;
  }

  const baseName = (file) => file.slice(Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\")) + 1);

  function placeText(number) {
    const [file, line, name] = data.places[number];
    return `${baseName(data.files[file].name)}:${line} in ${name}`;
  }

  function placeLink(number) {
    if (number === null || number === undefined) return null;
    const [file, line] = data.places[number];
    return make("a", { href: `#source/${file}/${line}`, class: "place" }, placeText(number));
  }

  // ---------------------------------------------------------------- a list of any length

  // Rows of one height, of which those in sight are elements.
  class List {
    constructor(draw, label) {
      this.draw = draw;
      this.rows = [];
      this.inner = make("div", {});
      this.element = make("div", { class: "list", tabindex: "0", role: "region", "aria-label": label },
        this.inner);
      this.element.addEventListener("scroll", () => this.refresh());
      new ResizeObserver(() => this.refresh(true)).observe(this.element);
    }
    show(rows) {
      this.rows = rows;
      this.inner.style.height = `${rows.length * ROW}px`;
      this.refresh(true);
    }
    refresh(all) {
      const height = this.element.clientHeight || 600;
      const first = Math.max(0, Math.floor(this.element.scrollTop / ROW) - SPARE);
      const last = Math.min(this.rows.length, first + Math.ceil(height / ROW) + 2 * SPARE);
      if (!all && first === this.first && last === this.last) return;
      this.first = first;
      this.last = last;
      const drawn = [];
      for (let i = first; i < last; i++) {
        const row = this.draw(this.rows[i], i);
        row.style.top = `${i * ROW}px`;
        drawn.push(row);
      }
      this.inner.replaceChildren(...drawn);
    }
    jump(index) {
      this.element.scrollTop = Math.max(0, index * ROW - this.element.clientHeight / 2);
      this.refresh(true);
    }
  }

  // A field for words that all must be in a row, and the number of rows that match.
  function search(rows, textOf, apply, start) {
    const texts = new Array(rows.length);
    const status = make("span", { class: "status", role: "status" });
    const field = make("input", { type: "search", placeholder: "Search", "aria-label": "Search" });
    const run = () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      const found = !words.length ? rows : rows.filter((row, i) => {
        texts[i] ??= textOf(row).toLowerCase();
        return words.every((word) => texts[i].includes(word));
      });
      status.textContent = `${found.length.toLocaleString()} of ${rows.length.toLocaleString()}`;
      apply(found, words.length > 0);
    };
    field.value = start || "";
    field.addEventListener("input", run);
    return { field, status, run };
  }

  const empty = (text) => make("p", { class: "empty" }, text);
  const titleOf = (number) =>
    number === null || number === undefined ? "" : data.programs[number].title;
  const cell = (width, ...children) => {
    const element = make("span", { class: "cell code" }, ...children);
    element.style.width = width;
    element.title = element.textContent;
    return element;
  };

  // ---------------------------------------------------------------- tabs

  function overview(view) {
    const box = make("div", { class: "scroll" });
    const table = make("table", {});
    for (const [label, text] of data.overview) {
      table.append(make("tr", {}, make("th", { scope: "row" }, label), make("td", {}, text)));
    }
    box.append(make("h2", {}, "Overview"), table);
    if (data.accepts.length) {
      box.append(make("h2", {}, "What it accepts"),
        make("pre", { class: "code" }, data.accepts.join("\n")));
    }
    view.append(box);
  }

  function symbols(view, query) {
    const rows = data.programs.flatMap((p, i) => p.symbols.map((s) => ({ ...s, program: i })));
    const lone = /[\ud800-\udfff]/gu; // half of a pair, which has no place in an address
    const uses = (name) =>
      make("a", { href: `#conditions/${encodeURIComponent(name.replace(lone, ""))}` }, "uses");
    const widths = ["8ch", "26ch", "10ch", "22ch", "10ch"];
    const columns = (...texts) => texts.map((text, i) => cell(widths[i], text));
    const list = new List((s) => make("div", { class: "row" },
      ...columns(s.name, s.known_as || s.label, s.kind, s.range, s.hint), uses(s.label),
      make("span", { class: "soft" }, titleOf(s.program)), placeLink(s.place)), "Symbols");
    const text = (s) => `${s.name} ${s.known_as || ""} ${s.label} ${s.kind} ${s.range} ${titleOf(s.program)}`;
    const tools = search(rows, text, (found) => list.show(found), query);
    view.append(make("div", { class: "tools" }, tools.field, tools.status),
      make("div", { class: "head" }, ...columns("name", "what it is", "kind", "range", "hint")),
      list.element);
    tools.run();
  }

  function held(view) {
    const list = new List((text) => make("div", { class: "row" },
      make("span", { class: "code" }, text)), "Held from outside");
    const tools = search(data.held, (text) => text, (found) => list.show(found), "");
    view.append(make("div", { class: "tools" }, tools.field, tools.status), list.element);
    tools.run();
  }

  function conditions(view, query) {
    const rows = data.conditions;
    const list = new List((c) => make("div", { class: "row" },
      make("span", { class: `tag ${c.what}` }, c.what), make("span", { class: "code" }, c.text),
      make("span", { class: "soft" }, [c.origin, c.note].filter(Boolean).join(", ")),
      make("span", { class: "soft" }, titleOf(c.program)), placeLink(c.place)), "Conditions");
    const text = (c) => {
      const where = c.place === null ? "" : placeText(c.place);
      return `${c.what} ${c.text} ${c.origin} ${c.note} ${titleOf(c.program)} ${where}`;
    };
    const tools = search(rows, text, (found) => list.show(found), query);
    view.append(make("div", { class: "tools" }, tools.field, tools.status), list.element);
    tools.run();
  }

  function source(view, wanted) {
    const [wantedFile, wantedLine] = wanted ? wanted.split("/").map(Number) : [];
    const byLine = new Map();
    data.conditions.forEach((c) => {
      if (c.place === null) return;
      const [file, line] = data.places[c.place];
      const key = `${file}/${line}`;
      if (!byLine.has(key)) byLine.set(key, []);
      byLine.get(key).push(c);
    });
    const chooser = make("select", { "aria-label": "File" });
    data.files.forEach((file, i) => chooser.append(make("option", { value: i }, file.name)));
    const list = new List(([file, line, text, notes]) => {
      const found = file === wantedFile && line === wantedLine;
      const row = make("div", { class: found ? "row found" : "row" },
        make("span", { class: "number code" }, String(line)), make("span", { class: "code" }, text));
      const different = new Map();  // the same note of several programs is one
      for (const note of notes) different.set(`${note.what}: ${note.text}`, note);
      for (const [text, note] of [...different].slice(0, 8)) {
        const title = [text, note.note || note.origin].filter(Boolean).join("\n");
        row.append(make("span", { class: `tag ${note.what}`, title }, text));
      }
      if (different.size > 8) {
        row.append(make("span", { class: "soft" }, `and ${different.size - 8} more`));
      }
      return row;
    }, "Source");
    const open = (i) => {
      const rows = data.files[i].lines.map(([line, text]) =>
        [i, line, text, byLine.get(`${i}/${line}`) || []]);
      list.show(rows);
      const at = rows.findIndex(([file, line]) => file === wantedFile && line === wantedLine);
      const first = rows.findIndex((row) => row[3].length);
      list.jump(at >= 0 ? at : Math.max(0, first));
    };
    chooser.addEventListener("change", () => open(Number(chooser.value)));
    view.append(make("div", { class: "tools" }, chooser), list.element);
    const notes = data.files.map(() => 0);
    for (const [key, found] of byLine) notes[Number(key.split("/")[0])] += found.length;
    const fullest = notes.indexOf(Math.max(...notes));
    const start = Number.isInteger(wantedFile) && data.files[wantedFile] ? wantedFile : fullest;
    chooser.value = String(start);
    open(start);
  }

  // The calls of a graph below the modules that they are part of.
  function tree(program, graph) {
    const root = { key: "", label: "", children: [], calls: 0 };
    const known = new Map([[-1, root]]);
    const find = (number) => {
      let node = known.get(number);
      if (node) return node;
      const m = program.modules[number];
      const outer = find(m.outer);
      const call = m.call ? `, call ${m.call}` : "";
      node = { label: `${m.path || "(the module itself)"}: ${m.class}${call}`, children: [], calls: 0 };
      node.outer = outer;
      known.set(number, node);
      outer.children.push(node);
      return node;
    };
    for (const row of graph.nodes) {
      let above = find(row[0]);
      above.children.push({ call: row });
      for (; above; above = above.outer) above.calls++;
    }
    return root;
  }

  function graphs(view) {
    const all = data.programs.flatMap((p) => p.graphs.map((g) => [p, g]));
    const chooser = make("select", { "aria-label": "Graph" });
    all.forEach(([p, g], i) => {
      const title = g.title ? `${p.title}, ${g.title}` : p.title;
      chooser.append(make("option", { value: i }, `${title}: ${g.nodes.length} calls`));
    });
    let root = null;
    let wordsNow = [];
    const closed = new Set();
    const status = make("span", { class: "status", role: "status" });
    const field = make("input", { type: "search", placeholder: "Search", "aria-label": "Search" });
    const list = new List(({ node, depth }) => {
      if (node.fixed) {
        return make("div", { class: "row" }, make("span", { class: "fold" }),
          make("span", { class: "code" }, node.fixed[0]), make("span", { class: "soft" }, node.fixed[1]),
          make("span", { class: "code soft" }, node.fixed[2]));
      }
      const space = make("span", {}, " ".repeat(2 * depth));
      if (node.call) {
        const [, , text, metas, place] = node.call;
        return make("div", { class: "row call" }, space, make("span", { class: "fold" }),
          make("span", { class: "code" }, text), make("span", { class: "code soft" }, metas),
          placeLink(place));
      }
      const isClosed = closed.has(node) && !wordsNow.length;
      const fold = make("button", {
        class: "fold", "aria-expanded": String(!isClosed), "aria-label": node.label,
        onclick: () => { (closed.has(node) ? closed.delete(node) : closed.add(node)); update(); },
      }, isClosed ? "▸" : "▾");
      return make("div", { class: "row module" }, space, fold, make("b", {}, node.label),
        make("span", { class: "soft" }, node.calls === 1 ? "1 call" : `${node.calls} calls`));
    }, "Graph");
    function visible(node, depth, out) {
      for (const child of node.children) {
        if (child.call) {
          const text = () => `${child.call[2]} ${child.call[3]}`.toLowerCase();
          const fits = !wordsNow.length || wordsNow.every((word) => (child.text ??= text()).includes(word));
          if (fits) out.push({ node: child, depth });
        } else {
          const before = out.length;
          out.push({ node: child, depth });
          if (wordsNow.length || !closed.has(child)) visible(child, depth + 1, out);
          const named = wordsNow.length && wordsNow.every((w) => child.label.toLowerCase().includes(w));
          if (wordsNow.length && out.length === before + 1 && !named) out.pop();
        }
      }
      return out;
    }
    function update() {
      wordsNow = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      const [, graph] = all[Number(chooser.value)];
      const rows = wordsNow.length ? [] : graph.inputs.map((fixed) => ({ node: { fixed }, depth: 0 }));
      visible(root, 0, rows);
      if (!wordsNow.length) rows.push({ node: { fixed: ["return", "", graph.outputs] }, depth: 0 });
      const count = rows.filter((row) => row.node.call).length;
      status.textContent = `${count.toLocaleString()} of ${graph.nodes.length.toLocaleString()} calls`;
      list.show(rows);
    }
    function open() {
      const [program, graph] = all[Number(chooser.value)];
      closed.clear();
      root = tree(program, graph);
      update();
    }
    const fold = (close) => () => {
      const each = (node) => node.children.forEach((child) => {
        if (child.call) return;
        if (close) closed.add(child); else closed.delete(child);
        each(child);
      });
      each(root);
      update();
    };
    chooser.addEventListener("change", open);
    field.addEventListener("input", update);
    view.append(make("div", { class: "tools" }, chooser, field, status,
      make("button", { onclick: fold(true) }, "Collapse all"),
      make("button", { onclick: fold(false) }, "Expand all")), list.element);
    open();
  }

  function happened(view) {
    const box = make("div", { class: "scroll", role: "region", "aria-label": "Events", tabindex: "0" });
    const more = make("button", {}, "Show more");
    let next = 0;
    const add = () => {
      for (const event of data.events.slice(next, next + 500)) {
        const time = event.time === null || event.time === undefined ? "" : `${event.time.toFixed(3)} s `;
        const item = make("div", { class: "event" },
          make("span", { class: "soft code" }, time),
          make("span", { class: `tag ${event.what}` }, event.what), " ", event.text, " ",
          placeLink(event.place));
        if (event.reasons.length) {
          const reasons = make("ul", {});
          for (const reason of event.reasons) {
            const line = make("li", {}, reason.text, " ", placeLink(reason.place));
            if (reason.fix) line.append(make("div", { class: "soft" }, "to avoid it: ",
              make("code", {}, reason.fix)));
            reasons.append(line);
          }
          item.append(reasons);
        }
        box.insertBefore(item, more);
      }
      next += 500;
      if (next >= data.events.length) more.remove();
    };
    box.append(more);
    more.addEventListener("click", add);
    add();
    view.append(box);
  }

  function flame(view) {
    const crumbs = make("div", { class: "tools" });
    const chart = make("div", { class: "flame scroll", role: "region", "aria-label": "Flame chart" });
    const ms = (seconds) => `${(seconds * 1000).toFixed(2)} ms`;
    const times = (count) => (count > 1 ? `, ${count} times` : "");
    const draw = (path) => {
      const top = path[path.length - 1];
      crumbs.replaceChildren(...path.map((node, i) => make("button", {
        onclick: () => draw(path.slice(0, i + 1)),
      }, node.name)), make("span", { class: "status", role: "status" }, `${ms(top.time)}${times(top.count)}`));
      chart.replaceChildren();
      let deepest = 0;
      const place = (node, depth, left, width, trail) => {
        deepest = Math.max(deepest, depth);
        const kind = node.name.split(" ", 1)[0];
        const bar = make("button", {
          class: ["question", "phase", "trace", "lowering"].includes(kind) ? kind : "",
          title: `${node.name}\n${ms(node.time)}${times(node.count)}`, onclick: () => draw(trail),
        }, width * chart.clientWidth > 30 ? node.name : "");
        bar.style.left = `${100 * left}%`;
        bar.style.width = `${100 * width}%`;
        bar.style.top = `${depth * 21}px`;
        chart.append(bar);
        let at = left;
        for (const inner of node.inner) {
          const share = node.time ? width * inner.time / node.time : 0;
          if (share > 0.0008) place(inner, depth + 1, at, share, [...trail, inner]);
          at += share;
        }
      };
      place(top, 0, 0, 1, path);
      chart.style.minHeight = `${(deepest + 1) * 21 + 4}px`;
    };
    view.append(crumbs, chart);
    draw([data.flame]);
  }

  const count = (name) => data.programs.reduce((sum, p) => sum + p[name].length, 0);
  const TABS = [
    ["overview", "Overview", null, overview],
    ["symbols", "Symbols", count("symbols"), symbols],
    ["conditions", "Guards, asserts, breaks", data.conditions.length, conditions],
    ["source", "Source", data.files.length, source],
    ["held", "Held from outside", data.held.length, held],
    ["graph", "Graph", count("graphs"), graphs],
    ["events", "What happened", data.events.length, happened],
    ["flame", "Time", data.flame ? null : 0, flame],
  ].filter(([, , number]) => number !== 0);

  // ---------------------------------------------------------------- the page

  const nav = make("nav", { "aria-label": "Parts of the report" });
  for (const [id, title, number] of TABS) {
    nav.append(make("a", { href: `#${id}`, "data-tab": id }, title,
      number === null ? null : make("span", { class: "count" }, number.toLocaleString())));
  }
  const view = make("main", {});
  document.body.append(make("header", {}, make("h1", {}, data.title),
    make("p", {}, `${data.kind}, anyshape ${data.anyshape}, ${data.made}`), nav), view);

  function route() {
    const [id, ...rest] = location.hash.slice(1).split("/");
    const tab = TABS.find(([name]) => name === id) || TABS[0];
    for (const link of nav.children) {
      if (link.dataset.tab === tab[0]) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    view.replaceChildren();
    let argument = rest.join("/");
    try { argument = decodeURIComponent(argument); } catch { /* as it stands */ }
    tab[3](view, argument);
    if (!view.childNodes.length) view.append(empty("There is nothing here."));
  }
  addEventListener("hashchange", route);
  route();
})();
