// Python and Tuneproof are loaded once; every audit after that is a function call.
import { loadPyodide } from "./pyodide.mjs";

const field = (id) => document.getElementById(id);
const state = field("state");

async function load() {
  const pyodide = await loadPyodide();
  for (const name of ["tuneproof.zip", "in_browser.py"]) {
    const answer = await fetch(name);
    if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
    if (name.endsWith(".zip")) pyodide.unpackArchive(await answer.arrayBuffer(), "zip");
    else pyodide.FS.writeFile(name, await answer.text());
  }
  return pyodide.pyimport("in_browser").audited;
}

try {
  const audited = await load();
  const show = () => {
    const result = field("result");
    result.textContent = audited(field("configuration").value, field("version").value.trim());
    result.hidden = false;
    state.textContent = "Done.";
  };
  field("audit").addEventListener("click", show);
  field("audit").disabled = false;
  state.textContent = "Ready.";
} catch (error) {
  state.textContent = `The page could not be loaded: ${error}`;
}
