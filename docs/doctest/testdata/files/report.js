print(ns, process.argv.slice(2).join(" "));
