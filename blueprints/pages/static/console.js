// Sends forms with data-send to the API as JSON. docs/development/pages.md describes the attributes.
"use strict";
const root = document.documentElement;
root.classList.add("script");
const $ = (selector, from = document) => from.querySelector(selector);
const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];
const byId = (id) => document.getElementById(id);
const make = (tag, properties) => Object.assign(document.createElement(tag), properties);
// Let the page react as if somebody had typed.
const notify = (element) => element.dispatchEvent(new Event("input", { bubbles: true }));
// Replace {name} in an address by values of the record, percent-encoded.
const fill = (address, record) => address.replace(/\{(\w+)\}/g, (_, key) => encodeURIComponent(record?.[key] ?? ""));
// The item of a list or the form that contains a control.
const owner = (element) => element.parentElement.closest("[data-item], form");
const keep = (name, value) => { document.cookie = `${name}=${value}; path=${root.dataset.base || "/"}; max-age=${value ? 31536000 : 0}; samesite=lax`; };
const controls = "input[name], select[name], textarea[name]";
const reach = (path, request) => fetch(path, request).catch(() => { throw Object.assign(Error("The server cannot be reached. Try again."), { isAway: true }); });
const localText = (time) => new Date(time - new Date(time).getTimezoneOffset() * 60000).toISOString().slice(0, 16);
const format = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
// A text of the API or of a question, with its times in the zone of the reader.
const withTimes = (text) => text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) => isNaN(new Date(time)) ? time : format.format(new Date(time)));
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

// The value of a control, or undefined if it is not sent.
function valueOf(control) {
  const { value: text, dataset: { type: kind, empty } } = control;
  const inList = { many: String, numbers: Number, objects: JSON.parse }[kind];
  if (control.type === "radio" && !control.checked) return undefined;
  if (inList) return control.type === "checkbox" && !control.checked ? [] : [inList(text)];
  if (control.type === "checkbox") return control.checked;
  if (text === "" && empty) return empty === "null" ? null : undefined;
  if (kind === "number") return text.trim() === "" ? null : Number(text);
  if (kind === "lines") return [...new Set(text.split("\n").map((line) => line.trim()).filter(Boolean))];
  if (kind === "share") return Math.round(Number(text) * 10);
  if (kind === "json") return JSON.parse(text || "null");
  // A time that is unchanged keeps its seconds.
  if (kind === "time") return text === control.shown ? control.dataset.time : isNaN(new Date(text)) ? text : new Date(text).toISOString();
  return text;
}

// Write a value to body.a.b for the name "a.b". Only objects without a prototype keep names such as __proto__.
function put(body, name, value) {
  if (value === undefined) return;
  const keys = name.split(".");
  const last = keys.pop();
  for (const key of keys) body = Object.setPrototypeOf(body[key] ??= {}, null);
  body[last] = Array.isArray(value) && Array.isArray(body[last]) ? [...body[last], ...value] : value;
}

// The JSON of a form or of an item of a list. <div data-list="name"> contains the items: <div data-item>.
function read(container) {
  const body = Object.create(null);
  for (const list of $$("[data-list]:not(option, [data-empty=omit])", container)) if (owner(list) === container) put(body, list.dataset.list, []);
  for (const element of $$(`${controls}, [data-item]`, container)) {
    if (owner(element) !== container || element.disabled || element.matches("[data-for][hidden] *")) continue;
    const { value } = element.dataset;
    const list = element.parentElement.closest("[data-list]")?.dataset.list;
    if (!element.matches("[data-item]")) put(body, element.name, valueOf(element));
    else put(body, list, [value === undefined ? read(element) : JSON.parse(value)]);
  }
  return body;
}

// The control of a property such as "title" or "constraints.0.value": in the first item of the list "constraints", "value".
function controlOf(form, path) {
  let place = form;
  const keys = path.split(".");
  for (let at; (at = keys.findIndex((key) => /^\d+$/.test(key))) > 0; keys.splice(0, at + 1)) {
    const item = $$(`[data-list="${CSS.escape(keys.slice(0, at).join("."))}"] > [data-item]`, place)[keys[at]];
    if (!item) break;
    place = item;
  }
  const name = keys.join(".");
  const named = $$(controls, place).filter((control) => control.type !== "hidden" && (`${control.name}.`.startsWith(`${name}.`) || name.startsWith(`${control.name}.`)));
  return named.find((control) => !control.disabled) ?? (place === form ? null : $(controls, place));
}

// Show the message of a refusal beside the fields that it names, and the rest. While somebody types, not at the next fields of their row.
function refuse(form, message, isTyping = false, rest = []) {
  for (const problem of $$(".problem.sent", form)) problem.remove();
  for (const control of $$("[aria-invalid]", form)) {
    control.removeAttribute("aria-invalid");
    control.setAttribute("aria-describedby", control.hints);
  }
  for (const part of message ? message.split(/; (?=[\w.]+: )/) : []) {
    const [, path, text] = part.match(/^([\w.]+): (.*)$/s) ?? [];
    const control = path && controlOf(form, path);
    if (!control) rest.push(part);
    if (!control || (isTyping && !control.isTyped && owner(control).contains(document.activeElement))) continue;
    const problem = make("p", { className: "problem sent", id: `problem-${$$(".problem").length}` });
    const words = control.dataset.type === "share" ? text.replace("1000", "100 %") : withTimes(text);
    problem.textContent = words.charAt(0).toUpperCase() + words.slice(1);
    (control.closest(".checks") ?? control.closest(".row, .percent, label") ?? control).after(problem);
    control.setAttribute("aria-invalid", "true");
    control.hints ??= control.getAttribute("aria-describedby") ?? "";
    control.setAttribute("aria-describedby", `${control.hints} ${problem.id}`);
  }
  const text = isTyping ? "" : rest.join("; ");
  Object.assign($(".refusal", form), { textContent: text, hidden: !text });
  if (text) form.closest(".menu")?.setAttribute("open", "");
  if (!isTyping) $("[aria-invalid]", form)?.focus();
}

// Ask the question of a form in a dialog. Return whether the answer is yes. The focus is on Cancel.
function ask(dialog) {
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((answer) => dialog.addEventListener("close", () => answer(dialog.returnValue === "yes"), { once: true }));
}

// The selected rows of a table, and those that a form sends. "#" in its texts is how many they are.
const selection = () => $$("main tbody :checked");
const count = () => { for (const place of $$("[data-count]")) place.textContent = selection().length; };
const counted = (form, text) => form.dataset.selected ? text.replace("#", selection().length === 1 ? "1 flag" : `${selection().length} flags`) : text;

// Ask the question of a form, if it has one. Return whether the form may be sent.
function confirmed(form) {
  const { confirm, title, yes, production, send: method } = { ...form.dataset, ...$("option[data-confirm]:checked", form)?.dataset };
  if (!confirm) return true;
  const dialog = $("#question");
  const button = $("button", dialog);
  button.textContent = counted(form, yes || $("button:not([type=button])", form).textContent.trim());
  dialog.className = production === undefined ? "" : "production";
  button.className = method === "DELETE" || $(".bad", form) ? "bad" : `main ${dialog.className}`;
  $("h2", dialog).textContent = title ? counted(form, title) : `${button.textContent}?`;
  $("p", dialog).textContent = withTimes(counted(form, confirm));
  $("ul", dialog).replaceChildren(...(form.dataset.selected ? selection() : []).map((box) => make("li", { textContent: `${box.value}: ${box.dataset.risk}` })));
  return ask(dialog);
}

// The line at the end of the page after a success. With the id of an event, it can be undone for 10 seconds. link: a page that it offers.
function toast(text, event, link) {
  if (!text) return;
  $(".toasts").replaceChildren($("#toast").content.cloneNode(true));
  $(".toast span").textContent = text;
  if (event) $(".toast form").dataset.path = `${root.dataset.base}/api/admin/events/${event}/undo`; else $(".toast form").remove();
  if (link) $(".toast a").href = link; else $(".toast a").remove();
  clearTimeout(fading);
  fading = setTimeout(() => $(".toast:not(:has(.refusal:not([hidden])))")?.remove(), event || link ? 10000 : 4000);
}

// The only record of the list data-find that has the values of data-match, or undefined. The session has ended: null.
async function find(form) {
  const response = await reach(form.dataset.find);
  if (response.status === 401) return null;
  const records = Object.values(await response.json()).find(Array.isArray) ?? [];
  const found = records.filter((record) => Object.entries(JSON.parse(form.dataset.match)).every(([key, value]) => record[key] === value));
  return found.length === 1 ? found[0] : undefined;
}

// What a form sends: method, path and body. Without a record, return what find() does.
async function requestOf(form) {
  const { body: fixed, plan, selected, path, only, send: method, proposal } = { ...form.dataset, ...form.pressed?.dataset };
  let body = fixed ? JSON.parse(fixed) : read(form);
  if (plan) {
    const { steps, until, replaces, name, parameters = {}, parameters: { groupId, stickiness } = {}, ...rest } = body;
    const isPlan = steps.length > 1 || steps[0]?.at || until;
    if (isPlan && !proposal) return { method: "POST", path: plan, body: { ...rest, steps, until, replaces, groupId, stickiness } };
    body = { ...isPlan && { steps, until }, ...rest, name, parameters };
  }
  if (selected) body[selected] = selection().map((box) => box.value);
  const record = form.dataset.find ? await find(form) : body;
  if (only) body = body[only];
  if (proposal) { const change = JSON.parse(proposal); body = { ...change, payload: { ...body, ...change.payload } }; }
  const isEmpty = method === "DELETE" || (!fixed && !Array.isArray(body) && Object.keys(body).length === 0);
  return record && { method, path: fill(path, record), body: isEmpty ? undefined : body };
}

let isLeaving = false, previewing, fading;
async function send(form, isConfirmed = false) {
  if (form.getAttribute("aria-busy") === "true" || (!isConfirmed && !await confirmed(form))) return;
  previewing = clearTimeout(previewing);
  refuse(form, "");
  form.setAttribute("aria-busy", "true");
  try {
    const request = await requestOf(form);
    if (request === null) return expired(form);
    if (!request) return refuse(form, "Not found, or there are several that look the same. Load this page again, or use the API.");
    const { method, path, body } = request;
    const headers = { ...body && { "Content-Type": "application/json" }, ...form.dataset.ifMatch && { "If-Match": `"${form.dataset.ifMatch}"` } };
    const response = await reach(path, { method, headers, body: JSON.stringify(body) });
    const result = await response.json().catch(() => null);
    // The session has ended, unless the message is about a field: a wrong old password.
    if (response.status === 401 && !form.elements[result?.message.split(":")[0]]) return expired(form);
    if (response.status === 412) return overtaken(form, await current());
    if (!response.ok) return refuse(form, result?.message ?? `The server answered with the status ${response.status}.`);
    await done(form, { ...body, ...result }, form.dataset.final ?? response.headers.get("Event-Id"));
  } catch (error) {
    const fault = error instanceof SyntaxError ? "This is not valid JSON: " : "This page has a fault. Load it again: ";
    refuse(form, error.isAway ? error.message : fault + error.message);
  } finally {
    // While the next page loads, a second click must not send the form again.
    if (!isLeaving) form.removeAttribute("aria-busy");
  }
}

const expired = async (form) => await ask($("#expired")) && send(form, true);
// The form of another copy of this page that sends the same request.
const twin = (form, page) => $$("form[data-send]", page).find((one) => $("button[id]", one)?.id === $("button[id]", form)?.id
  && ["path", "send", "proposal", "match"].every((key) => one.dataset[key] === form.dataset[key]));

// Somebody else has changed the record of a form: ask its question as it is now, or if it has fields, show the newest change.
async function overtaken(form, page) {
  const same = page && twin(form, page);
  if (!same) return refuse(form, "Somebody has changed this meanwhile, and you can no longer change it.");
  if (!$(controls, form)) {
    same.dataset.confirm = `Somebody has changed this meanwhile. ${same.dataset.confirm ?? ""}`;
    form.replaceWith(same);
    return send(same);
  }
  const dialog = $("#changed");
  $(".what", dialog).replaceChildren($("#newest-change", page).content);
  for (const details of $$("details", dialog)) details.open = true;
  prepare(dialog);
  if (!await ask(dialog)) return dialog.returnValue === "see" && location.reload();
  form.dataset.ifMatch = same.dataset.ifMatch;
  return send(form, true);
}

// Show the result of a success.
async function done(form, record, event) {
  const { said = record.message ?? "Saved.", off, show, then } = { ...form.dataset, ...form.pressed?.dataset };
  const text = off && !$(":checked", form) ? off : counted(form, said).replace("{requiredApprovals}", record.requiredApprovals);
  form.closest("dialog")?.close();
  if (show) {
    for (const field of $$(`#${show} [data-field]`)) field.textContent = record[field.dataset.field] ?? "";
    byId(show).addEventListener("close", () => refresh(form), { once: true });
    byId(show).showModal();
  } else if (then) {
    isLeaving = true;
    sessionStorage.toast = JSON.stringify([text, event]);
    location.assign(fill(then, record));
  } else {
    await refresh(form);
    toast(text, event, form.dataset.link);
  }
}

// This page as the server has it now, or null.
async function current() {
  const response = await reach(location.href);
  return response.ok && !response.redirected ? new DOMParser().parseFromString(await response.text(), "text/html") : null;
}

// Load this page again in place. The focus, open details, the scroll position, the selected rows and other forms with typed text stay.
async function refresh(form) {
  const page = await current();
  if (!page) return location.reload();
  const focused = form.dataset.focus ?? document.activeElement?.id;
  const open = $$("details[open][id]").map((element) => element.id);
  for (const other of $$("main form:not(dialog *)").filter((one) => one !== form && $$("*", one).some((element) => element.isTyped))) {
    const fresh = twin(other, page);
    if (fresh && form.dataset.ifMatch && form.dataset.ifMatch === other.dataset.ifMatch) other.dataset.ifMatch = fresh.dataset.ifMatch;
    fresh?.replaceWith(other);
  }
  const ticked = form.dataset.selected ? [] : selection().map((box) => box.value);
  $("main").replaceWith(document.adoptNode($("main", page)));
  for (const id of open) byId(id)?.setAttribute("open", "");
  for (const box of $$(".selecting tbody [type=checkbox]")) box.checked = ticked.includes(box.value);
  count();
  prepare($("main"));
  (byId(focused)?.closest(".menu:not([open])")?.firstElementChild ?? byId(focused) ?? $("main")).focus({ preventScroll: true });
}

// Times in the zone of the reader, in texts and in fields.
function prepare(part) {
  for (const element of $$("time[datetime]", part)) {
    const time = new Date(element.dateTime);
    if (time > Date.now()) element.textContent = format.format(time);
    element.title = `${format.format(time)} (${element.dateTime.slice(0, 19).replace("T", " ")} UTC)`;
  }
  for (const field of $$("input[data-time]", part)) { field.shown = field.value = localText(Date.parse(field.dataset.time)); showUTC(field); }
  for (const list of $$("table[data-list=variants]", part)) weigh(list);
  for (const form of $$("form[data-plan]", part)) offer(form);
  for (const tab of $$(".tabs [aria-current]", part)) tab.parentElement.scrollLeft = tab.offsetLeft - tab.parentElement.clientWidth / 2;
}

document.addEventListener("DOMContentLoaded", () => {
  prepare(document);
  $("[data-zone]").textContent = ` · Times are in your time zone (${zone})`;
  keep("zone", zone);
  if (sessionStorage.toast) toast(...JSON.parse(sessionStorage.toast));
  delete sessionStorage.toast;
  const palette = $("#palette");
  if (!palette) return;
  $("input", palette).addEventListener("input", () => { clearTimeout(searching); searching = setTimeout(search, 120); chosen = -1; });
  palette.addEventListener("keydown", async (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) { event.preventDefault(); choose(chosen + step); }
    if (event.key === "Enter") { if (chosen < 0) await search(); results()[chosen]?.click(); }
  });
  $("#find").addEventListener("mousedown", (event) => { event.preventDefault(); openPalette(); });
  $("#find").addEventListener("input", (event) => { openPalette(event.target.value); event.target.value = ""; });
});

// The palette: the server renders the results, and the newest answer wins. chosen: -1 until the results of the present text are there.
let searching, chosen = -1;
const results = () => $$("#found [role=option]");
function choose(place, items = results()) {
  chosen = Math.max(0, Math.min(place, items.length - 1));
  for (const item of items) item.setAttribute("aria-selected", String(item === items[chosen]));
  $("#palette input").setAttribute("aria-activedescendant", items[chosen]?.id ?? "");
  items[chosen]?.scrollIntoView({ block: "nearest" });
}

async function search() {
  const number = searching;
  const response = await fetch(`${root.dataset.base}/search?part=results&q=${encodeURIComponent($("#palette input").value)}`).catch(() => null);
  if (number !== searching) return;
  if (response?.redirected || response?.status === 401) return location.reload();
  $("#found").innerHTML = response?.ok ? await response.text() : "";
  $("#none-found").textContent = !response?.ok ? "The server cannot be reached." : results().length ? "" : "No flag, project or page has this text.";
  choose(0);
}

function openPalette(text = "") {
  const palette = $("#palette");
  if (!palette || palette.open) return;
  palette.showModal();
  [chosen, searching, $("input", palette).value] = [-1, setTimeout(search), text];
}

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (key === "Enter" && "pick" in target.dataset && target.value) { event.preventDefault(); pick(target); target.reportValidity(); }
  if ((event.ctrlKey || event.metaKey) && key === "k") { event.preventDefault(); return openPalette(); }
  if ((event.ctrlKey || event.metaKey) && key === "Enter") return target.form?.requestSubmit($$("button.main:not([type=button])", target.form).find((button) => button.offsetParent));
  if (key === "Escape") for (const menu of $$(".menu[open]")) { menu.open = false; $("summary", menu).focus(); }
  if (event.ctrlKey || event.metaKey || event.altKey || root.dataset.keys === "off") return;
  if (target.closest("input:not([type=checkbox], [type=radio]), select, textarea, dialog")) return;
  const links = $$("main tbody .name a");
  const row = links.findIndex((link) => link.closest("tr") === target.closest("tr"));
  if (key === "/") { event.preventDefault(); openPalette(); }
  if (key === "?") $("#keys")?.showModal();
  if (key === "j" || key === "k") links[Math.max(0, Math.min(row + (key === "j" ? 1 : -1), links.length - 1))]?.focus();
  if (key === "x" && row >= 0) $("[type=checkbox]", links[row].closest("tr"))?.click();
});

document.addEventListener("submit", (event) => {
  if (event.target.matches("form[data-send]")) {
    event.preventDefault();
    send(Object.assign(event.target, { pressed: event.submitter }));
  } else if (event.target.method === "post" && !("download" in event.target.dataset)) {
    // A second click must not send a plain form twice. After a download, the page is still there.
    if (event.target.getAttribute("aria-busy")) event.preventDefault();
    event.target.setAttribute("aria-busy", "true");
  }
});

document.addEventListener("input", (event) => {
  const control = event.target;
  const { same, reveal } = control.dataset;
  control.isTyped = true;
  if ("all" in control.dataset) for (const box of $$("tbody td:first-child > [type=checkbox]")) box.checked = control.checked;
  count();
  if ("cookie" in control.dataset) {
    const value = control.type === "checkbox" && !control.checked ? "" : control.value;
    keep(control.name, value);
    root.dataset[control.name] = value;
  }
  if (same) for (const id of same.split(" ")) byId(id).value = control.value;
  if (reveal) byId(reveal).type = control.checked ? "text" : "password";
  if (control.type === "datetime-local") showUTC(control);
  // An option of the list was chosen. Browsers say that it changed only when it loses the focus.
  if ("pick" in control.dataset && event.inputType === "insertReplacementText") pick(control);
  if ("field" in control.dataset) chooseField(control);
  if ("chooses" in control.dataset) showChosen(control);
  const variants = control.closest("table[data-list=variants]");
  if (variants) weigh(variants, control);
  for (const form of $$("form[data-plan]")) offer(form);
  const form = control.closest("form[data-preview]");
  clearTimeout(previewing);
  if (form) previewing = setTimeout(() => preview(form).catch(() => null), 200);
});

// Of the elements with data-for, only those with the value of the control are shown and sent.
function showChosen(control) {
  const inverted = control.selectedOptions?.[0].dataset.inverted;
  if (inverted) $("[name=inverted]", control.parentElement).value = inverted;
  for (const element of $$("[data-for]", owner(control)).filter((one) => owner(one) === owner(control))) {
    element.hidden = !element.dataset.for.split(" ").includes(control.value);
    for (const inner of $$(controls, element)) inner.disabled = element.hidden;
  }
}

document.addEventListener("click", (event) => {
  // What is typed into a number replaces it, also after a click.
  if (event.target.type === "number") event.target.select();
  for (const menu of $$(".menu[open]")) if (!menu.contains(event.target) || event.target.closest("[data-open]")) menu.open = false;
  const button = event.target.closest("button");
  if (!button) return;
  const { add, copy, open, set, same, template } = button.dataset;
  if (add) {
    const list = $(`[data-list="${add}"]`, owner(button));
    list.append(byId(template ?? `new-${add}`).content.cloneNode(true));
    $(controls, list.lastElementChild)?.focus();
    if (add === "steps") schedule($$("[name=at]", list));
    notify(list);
  } else if ("remove" in button.dataset) {
    const [list, first] = [button.closest("[data-list]"), byId("first-step")];
    button.closest("[data-item]").remove();
    if (first?.lowered && first.value === "10" && list.children.length === 1) notify(Object.assign(first, { value: 100, lowered: false }));
    notify(list);
  } else if (set) {
    notify(Object.assign(byId(same), { value: set }));
  } else if (copy) {
    // navigator.clipboard does not exist on pages with http.
    getSelection().selectAllChildren(byId(copy));
    const said = document.execCommand("copy") ? "Copied" : "Press Ctrl+C to copy";
    if (button.ariaLabel) toast(`${said}.`); else button.textContent = said;
  }
  if (open) byId(open).showModal();
  if ("clear" in button.dataset) for (const box of $$("table :checked")) box.checked = false;
  if ("close" in button.dataset) button.closest("dialog").close();
});

// What is chosen in a field with data-pick becomes a chip: the option with the text, or the only one that contains it.
function pick(field) {
  const text = field.value.trim().toLowerCase();
  const options = [...field.list.options];
  const exact = options.filter((option) => option.value.toLowerCase() === text);
  const found = exact.length ? exact : options.filter((option) => option.value.toLowerCase().includes(text));
  field.setCustomValidity(text && found.length !== 1 ? "Choose one of the list." : "");
  if (!text || found.length !== 1) return;
  const { list, value, name, hint } = found[0].dataset;
  const place = $(`[data-list="${list}"]`, field.parentElement);
  const chip = $("template", field.parentElement).content.firstElementChild.cloneNode(true);
  chip.dataset.value = value;
  chip.firstElementChild.textContent = name;
  chip.children[1].textContent = hint;
  $("button", chip).ariaLabel = `Remove ${name}`;
  if (!$$("[data-item]", place).some((item) => item.dataset.value === value)) place.append(chip);
  Object.assign(field, { value: "", required: false });
  notify(place);
}

// A chip moves what follows it. It waits until the mouse is released, so that a click on a button hits.
let released;
addEventListener("mousedown", () => { released = new Promise((release) => addEventListener("mouseup", release, { once: true })); }, true);
document.addEventListener("change", async ({ target }) => { if ("pick" in target.dataset) { await released; pick(target); } });

function showUTC(field) {
  const time = new Date(field.value);
  for (const place of $$("[data-utc]", field.parentElement)) place.textContent = isNaN(time) ? zone : `${zone} · ${time.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

// A new step is a week after the one before it, or tomorrow at 9. More than 100 % cannot follow, so the first step is 10 % then.
function schedule(fields, first = byId("first-step")) {
  if (first.value === "100") notify(Object.assign(first, { value: 10, lowered: true }));
  const [field, before] = fields.reverse();
  const time = new Date(Date.parse(before?.value) || new Date().setHours(9, 0));
  field.value = localText(time.setDate(time.getDate() + (before ? 7 : 1)));
  showUTC(field);
}

// The field of a constraint. Its option has a description, a template with its values, and perhaps an operator.
function chooseField(select) {
  const { hint, values, operator } = select.selectedOptions[0].dataset;
  const row = select.closest("[data-item]");
  $("[data-hint]:not(option)", row).textContent = hint;
  $(".choices", row).replaceChildren(byId(values).content.cloneNode(true));
  const chosen = $("[name=operator]", row);
  if (operator || select.chose) chosen.value = operator ?? "IN";
  select.chose = operator;
  notify(chosen);
}

// A change request cannot contain a ramp plan. A hidden button of the type submit would still answer to Enter.
function offer(form) {
  const hidden = Boolean($("[name=at]:enabled", form) ?? $("[name=until]:enabled", form)?.value);
  for (const button of $$("[data-proposal]", form)) Object.assign(button, { hidden, type: hidden ? "button" : "submit" });
}

// The shares of variants: equal parts of what the fixed ones leave. A typed share becomes fixed, unless it is the only one.
function weigh(list, control) {
  const rows = $$(":scope > [data-item]", list).map((row) => ({ weight: $("[name=weight]", row), type: $("[name=weightType]", row) }));
  const typed = rows.find((row) => row.weight === control);
  if (typed) typed.type.value = "fix";
  const isFree = (row) => row.type.value === "variable";
  if (rows.length && !rows.some(isFree)) (rows.find((row) => row !== typed) ?? typed).type.value = "variable";
  const free = rows.filter(isFree);
  const rest = rows.reduce((left, row) => isFree(row) ? left : left - Math.round(10 * row.weight.value), 1000);
  for (const row of rows) row.weight.setCustomValidity(rest < 0 && !isFree(row) ? "The fixed shares are more than 100 % together." : "");
  if (control) for (const [place, row] of free.entries()) row.weight.value = Math.max(0, Math.floor((rest + place) / free.length)) / 10;
  $(".share", list.parentElement).replaceChildren(...rows.map((row) => make("i", { style: `flex-grow: ${row.weight.value}` })));
}

async function preview(form) {
  const number = previewing;
  const response = await fetch(form.dataset.preview, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(read(form)) });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  if (number !== previewing || response.redirected || !response.ok) return;
  const problem = $(".problem", page)?.textContent ?? "";
  refuse(form, problem, true);
  $("#preview").replaceChildren(...(problem && !$("[aria-invalid]", form) ? ["Not complete yet."] : page.body.childNodes));
  prepare($("#preview"));
}

// A page from the cache of the Back button can be one of a user who has logged out.
addEventListener("pageshow", (event) => event.persisted ? location.reload() : count());
