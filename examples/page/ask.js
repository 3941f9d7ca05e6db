// Asks the model for its columns, makes a field of each, shows the answer, and takes the label.

const MODEL = "/v1/models/default";
const form = document.getElementById("form");
const answer = document.getElementById("answer");

async function ask(path, body) {
  const options = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(MODEL + path, body && options);
  const told = await response.json();
  if (!response.ok) throw new Error(told.detail); // problem+json
  return told;
}

function element(name, text = "", properties = {}) {
  return Object.assign(document.createElement(name), { textContent: text }, properties); // text, never HTML
}

function field(column) {
  const label = element("label", column.name);
  const type = column.kind === "number" ? "number" : "text";
  label.append(element("input", "", { name: column.name, type, step: "any" }));
  return label;
}

function row(columns) {
  const cells = new FormData(form);
  const filled = columns.filter((column) => cells.get(column.name) !== ""); // others are missing
  const value = ({ name, kind }) => (kind === "number" ? Number(cells.get(name)) : cells.get(name));
  return Object.fromEntries(filled.map((column) => [column.name, value(column)]));
}

function show(told, id) {
  answer.replaceChildren(element("h2", `The answer: ${told.predictions[0]}`));
  for (const [i, name] of (told.classes ?? []).entries()) {
    const share = told.probabilities[0][i];
    const line = element("p", `${name}: ${(100 * share).toFixed(1)} % `);
    const truth = element("button", `It was ${name}`, { type: "button" });
    truth.onclick = () => attempt(() => learn(id, name));
    line.append(element("meter", "", { value: share }), truth);
    answer.append(line);
  }
}

async function learn(id, label) {
  const told = await ask("/feedback", { id, label });
  answer.append(element("p", `The label: ${told.labels[id]}.`));
}

async function attempt(work) {
  try {
    await work();
  } catch (error) {
    answer.append(element("p", `That did not work: ${error.message}`));
  }
}

attempt(async () => {
  const { columns } = await ask("");
  const known = columns.filter(({ kind }) => !["identifier", "dropped"].includes(kind));
  if (!known.length) throw new Error("the model has not seen enough rows yet");
  document.getElementById("cells").replaceChildren(...known.map(field));
  form.onsubmit = (event) => {
    event.preventDefault();
    const id = `${Date.now()}-${Math.random()}`; // for the label, which comes later or never
    attempt(async () => show(await ask("/predict", { rows: [row(known)], ids: [id] }), id));
  };
});
