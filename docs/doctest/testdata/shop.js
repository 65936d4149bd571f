// What the examples of pages find, unless they say something else: four shards that are
// in balance, and users with the password "secret".
const shop = db.getSiblingDB("shop"), app = db.getSiblingDB("app");
const day = 86400000, now = new Date("2026-01-01T00:00:00Z").getTime();
sh.stopBalancer();
for (const name of ["shop", "app"]) sh.enableSharding(name, "shard0");
for (const ns of ["shop.orders", "app.orders"]) {
  sh.shardCollection(ns, { customer: 1 });
  for (const [i, customer] of [250, 500, 750].entries()) {
    sh.splitAt(ns, { customer });
    sh.moveRange(ns, "shard" + (i + 1), { customer });
  }
}
const orders = Array.from({ length: 1000 }, (_, i) => ({
  customer: i, order: i, total: i % 300, name: "order " + i, at: new Date(now - i * day / 10),
}));
shop.orders.insertMany(orders);
shop.orders.createIndex({ order: 1 });
app.orders.insertMany(orders.slice(0, 100));
sh.shardCollection("shop.events", { device: "hashed" });
shop.events.insertMany(Array.from({ length: 500 }, (_, i) => ({ device: i, at: new Date(now - (i % 2) * 31 * day) })));
shop.prices.insertMany([{ name: "tea", price: 3 }, { name: "coffee", price: 4 }]);
for (const user of ["root", "ops", "joe"]) db.getSiblingDB("admin").createUser({ user, pwd: "secret", roles: ["root"] });
sh.startBalancer();
