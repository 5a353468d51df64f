// Buttons that copy the text beside them. Where the browser does not let a page write the clipboard, the text is selected.

async function copy(button) {
  const text = button.parentElement.querySelector("pre");
  getSelection().selectAllChildren(text);
  try {
    await navigator.clipboard.writeText(text.textContent);
    button.textContent = "Copied";
  } catch {
    button.textContent = document.execCommand("copy") ? "Copied" : "Selected: copy it now";
  }
}

function show() {
  for (const button of document.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
}

show();
document.addEventListener("changed", show);
document.addEventListener("click", event => {
  const button = event.target.closest("[data-copy]");
  if (button) copy(button);
});
