import { connect, Refused } from "/remit/browser.js";

const items = [];

function show() {
  const rows = items.map((sku) => Object.assign(document.createElement("li"), { textContent: sku }));
  document.querySelector("ul").replaceChildren(...rows);
  cart.update({ available: { clear: items.length > 0 || "the cart is empty" } });
}

const cart = connect().bind("shop.cart", {
  read: () => items,
  add({ sku, count }) {
    if (!sku.startsWith("a-")) throw new Refused("the shop has no such article");
    items.push(...Array(count).fill(sku));
    show();
    return items.length;
  },
  clear() {
    items.length = 0;
    show();
  },
});
show();
