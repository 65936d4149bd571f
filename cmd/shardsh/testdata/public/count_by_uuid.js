// What a script does with uuidhelpers.js: count_by_uuid.js -- "{00112233-…}"
load(__dirname + "/uuidhelpers.js");
const id = process.argv.at(-1);
print(["UUID", "JUUID", "CSUUID", "PYUUID"].map(form => db.c.countDocuments({ _id: globalThis[form](id) })).join(" "));
