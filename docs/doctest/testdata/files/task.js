sh.disableBalancing("shop.orders");
