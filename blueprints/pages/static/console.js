// Sends forms with data-send as JSON to the API, and shows the message of a refusal beside the form. The attributes are
// described in docs/development/pages.md.
"use strict";
document.documentElement.classList.add("script");

const controls = "input[name], select[name], textarea[name]";

// The value of a control, or undefined if it is not sent.
function valueOf(control) {
  const kind = control.dataset.type;
  if (control.type === "radio") return control.checked ? typed(control.value, kind) : undefined;
  if (control.type === "checkbox" && kind === "many") return control.checked ? [control.value] : [];
  if (control.type === "checkbox" && kind === "numbers") return control.checked ? [Number(control.value)] : [];
  if (control.type === "checkbox" && kind === "objects") return control.checked ? [JSON.parse(control.value)] : [];
  if (control.type === "checkbox") return control.checked;
  if (control.multiple) return [...control.selectedOptions].map((option) => typed(option.value, kind));
  const text = control.value;
  if (text === "" && control.dataset.empty === "omit") return undefined;
  if (text === "" && control.dataset.empty === "null") return null;
  return typed(text, kind);
}

function typed(text, kind) {
  if (kind === "number") return text.trim() === "" ? null : Number(text);
  if (kind === "boolean") return text === "true";
  if (kind === "lines") return text.split("\n").map((line) => line.trim()).filter(Boolean);
  if (kind === "json") return JSON.parse(text || "null");
  if (kind === "time") return text && new Date(text).toISOString();
  return text;
}

// Write a value to body.a.b for the name "a.b". Values of checkboxes with the same name form a list. People choose names
// such as __proto__, which only objects without a prototype keep.
function put(body, name, value) {
  if (value === undefined) return;
  const keys = name.split(".");
  const last = keys.pop();
  for (const key of keys) body = Object.setPrototypeOf(body[key] ??= {}, null);
  body[last] = Array.isArray(value) && Array.isArray(body[last]) ? [...body[last], ...value] : value;
}

// The JSON of a form or of an item of a list. <div data-list="name"> contains the items: <div data-item>.
function read(container) {
  const owner = (element) => element.parentElement.closest("[data-item], form");
  const body = Object.create(null);
  for (const list of container.querySelectorAll("[data-list]")) {
    if (owner(list) === container) put(body, list.dataset.list, []);
  }
  for (const element of container.querySelectorAll(`${controls}, [data-item]`)) {
    if (owner(element) !== container || element.disabled) continue;
    if (element.matches("[data-item]")) {
      put(body, element.closest("[data-list]").dataset.list, [read(element)]);
    } else {
      put(body, element.name, valueOf(element));
    }
  }
  return body;
}

// The message of a refusal. Names of fields at its beginning become their labels.
function refuse(form, message) {
  const label = (name) => form.elements[name]?.labels?.[0]?.firstChild.textContent.trim() || name;
  const place = form.querySelector(".refusal");
  place.textContent = message.replace(/(^|; )(\w+)(?=: )/g, (_, before, name) => before + label(name));
  place.hidden = !message;
}

// Replace {name} in an address by values of the record, percent-encoded.
function fill(address, record) {
  return address.replace(/\{(\w+)\}/g, (_, key) => encodeURIComponent(record?.[key] ?? ""));
}

// The only record of a list of the API that has the values of data-match, or null.
async function find(form) {
  const values = Object.entries(JSON.parse(form.dataset.match));
  const response = await fetch(form.dataset.find);
  if (response.status === 401) location.reload();
  const lists = await response.json();
  const found = (Object.values(lists).find(Array.isArray) ?? []).filter((record) => values.every(([key, value]) => record[key] === value));
  return found.length === 1 ? found[0] : null;
}

async function send(form) {
  if (form.getAttribute("aria-busy") === "true") return;
  if (form.dataset.confirm && !confirm(form.dataset.confirm)) return;
  refuse(form, "");
  form.setAttribute("aria-busy", "true");
  let leaving = false;
  try {
    let body = form.dataset.body ? JSON.parse(form.dataset.body) : read(form);
    const record = form.dataset.find ? await find(form) : body;
    if (!record) return refuse(form, "Not found, or there are several that look the same. Load this page again, or use the API.");
    const path = fill(form.dataset.path, record);
    if (form.dataset.only) body = body[form.dataset.only];
    const method = form.dataset.send;
    const none = method === "DELETE" || (!form.dataset.body && !Array.isArray(body) && Object.keys(body).length === 0);
    const response = await fetch(path, {
      method,
      headers: none ? {} : { "Content-Type": "application/json" },
      body: none ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    const result = text && response.headers.get("Content-Type")?.startsWith("application/json") ? JSON.parse(text) : null;
    // The session has ended, unless the message is about a field: a wrong old password.
    if (response.status === 401 && !form.elements[result?.message.split(":")[0]]) return location.reload();
    if (!response.ok) return refuse(form, result?.message ?? `The server answered with the status ${response.status}.`);
    leaving = await done(form, { ...body, ...result });
  } catch (error) {
    refuse(form, error instanceof SyntaxError ? `This is not valid JSON: ${error.message}` : "The server cannot be reached. Try again.");
  } finally {
    // While the next page loads, a second click must not send the form again.
    if (!leaving) form.removeAttribute("aria-busy");
  }
}

// Show the result of a success. Return whether another page opens.
async function done(form, record) {
  form.closest("dialog")?.close();
  const then = form.dataset.then ?? "";
  if (form.dataset.show) {
    const box = document.getElementById(form.dataset.show);
    for (const field of box.querySelectorAll("[data-field]")) field.textContent = record[field.dataset.field] ?? "";
    box.addEventListener("close", refresh, { once: true });
    box.showModal();
  } else if (then) {
    location.assign(fill(then, record));
  } else {
    await refresh();
  }
  return Boolean(then) && !form.dataset.show;
}

// Load this page again in place. The focus, open details and the scroll position stay.
async function refresh() {
  const response = await fetch(location.href);
  const type = response.headers.get("Content-Type") ?? "";
  if (!response.ok || response.redirected || !type.startsWith("text/html")) return location.reload();
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const focused = document.activeElement?.id;
  const open = [...document.querySelectorAll("details[open][id]")].map((element) => element.id);
  document.querySelector("main").replaceWith(document.adoptNode(page.querySelector("main")));
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  prepare(document.querySelector("main"));
  (document.getElementById(focused) ?? document.getElementById("main")).focus({ preventScroll: true });
}

// Times in the zone of the reader, in texts (with UTC on hover) and in fields. Values of sliders beside them.
function prepare(root) {
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  for (const element of root.querySelectorAll("time[datetime]")) {
    const time = new Date(element.dateTime);
    if (isNaN(time)) continue;
    element.title = `${element.dateTime.slice(0, 19).replace("T", " ")} UTC`;
    element.textContent = format.format(time);
  }
  for (const field of root.querySelectorAll("input[data-time]")) {
    const time = new Date(field.dataset.time);
    field.value = new Date(time - time.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
  }
  for (const slider of root.querySelectorAll("input[type=range]")) show(slider);
}

function show(slider) {
  const output = slider.form?.querySelector(`output[for="${slider.id}"]`);
  if (output) output.textContent = `${slider.value} %`;
}

document.addEventListener("DOMContentLoaded", () => prepare(document));

document.addEventListener("submit", (event) => {
  if (event.target.matches("form[data-send]")) {
    event.preventDefault();
    send(event.target);
  } else if (event.target.method === "post" && !("download" in event.target.dataset)) {
    // A second click must not send a plain form twice. After a download, the page is still there.
    if (event.target.getAttribute("aria-busy")) event.preventDefault();
    event.target.setAttribute("aria-busy", "true");
  }
});

document.addEventListener("input", (event) => {
  const control = event.target;
  if (control.type === "range") show(control);
  // data-reveal="id": a checkbox that shows the text of a password field.
  const password = document.getElementById(control.dataset.reveal);
  if (password) password.type = control.checked ? "text" : "password";
  if (!("chooses" in control.dataset)) return;
  // data-chooses: of the elements with data-for beside this select, only those with its value are shown and sent.
  const owner = (element) => element.closest("[data-item], form");
  for (const element of owner(control).querySelectorAll("[data-for]")) {
    if (owner(element) !== owner(control)) continue;
    element.hidden = !element.dataset.for.split(" ").includes(control.value);
    for (const inner of element.querySelectorAll(controls)) inner.disabled = element.hidden;
  }
});

// data-add="id": append a copy of the template to the list before the button. data-remove: remove the item.
// data-copy="id": copy the text of an element. data-open="id": open a dialog. data-close: close it.
document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const { add, copy, open } = button.dataset;
  if (add) {
    const list = button.closest("form, [data-item]").querySelector(`[data-list="${add}"]`);
    const template = document.getElementById(button.dataset.template ?? `new-${add}`);
    list.append(template.content.cloneNode(true));
    list.lastElementChild.querySelector(controls)?.focus();
  } else if ("remove" in button.dataset) {
    button.closest("[data-item]").remove();
  } else if (copy) {
    // navigator.clipboard does not exist on pages with http.
    getSelection().selectAllChildren(document.getElementById(copy));
    button.textContent = document.execCommand("copy") ? "Copied" : "Press Ctrl+C to copy";
  } else if (open) {
    document.getElementById(open).showModal();
  } else if ("close" in button.dataset) {
    button.closest("dialog").close();
  }
});

// A page from the cache of the Back button can be one of a user who has logged out.
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
