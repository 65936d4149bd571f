package history_test

import (
	"testing"

	"shardsh/repl/history"
)

func TestSensitive(t *testing.T) {
	for _, input := range []string{
		`db.auth("joe", "x1")`, `db.getSiblingDB("admin").auth({user: "joe", pwd: "x1"})`, `db.createUser({user: "a"})`,
		`db.changeUserPassword("a", "x1")`, `db.adminCommand({ updateUser: "a", pwd: "x1" })`, `connect("h", "u", "p")`,
		`new Mongo("mongodb://h")`, `const password = "x1"`, `let dbPassword="x1"`, `var pwd = 'x1'`, `pw = "x1"`,
		`const userPass = "x1"`, `const PASSWD = "x1"`, `passphrase = "x1"`, `const apiKey = "x1"`, `api_key = 'x1'`,
		`const secret = 'x1'`, `clientSecret: "x1"`, `x = {"password": "x1"}`, `x["password"] = "x1"`, `o.token = "x1"`,
		"x = {\n  user: 1,\n  password:\n    'x1'\n}", `process.env.DB_PASSWORD = "x1"`, `process.env["MONGO_PWD"] = "x1"`,
		`process.env.SHARDSH_PASSWORD = "x1"`, `const credentials = ["a", "x1"]`, `headers.set("Authorization", "x1")`,
		`h = "Bearer x1"`, "k = `-----BEGIN PRIVATE KEY-----\nx1`", `set("password", "x1")`, `keyFile: "x1"`,
		`accessKeyId = "x1"`, `const resumeToken = t`, `f({ password : "x1" })`,
		`u = "mongodb+srv://joe:x1@h/db"`, `u = "mongodb://joe@h/db"`, `u = "mongo://joe:x1@h"`, `u = "mongodb:/joe:x1@h"`,
		`u = "https://joe:x1@h/"`, `u = "joe:x1@h:27017"`, `// shardsh -u joe -p x1`, `"shardsh --password x1"`,
	} {
		if !history.IsSensitive(input) {
			t.Errorf("kept: %s", input)
		}
	}
	for _, input := range []string{
		`db.orders.find({ passed: true })`, `sh.status()`, `x = "10.1.2.3:27017"`, `load("/home/joe/pass.js")`,
		`db.users.countDocuments()`, `mail("joe@example.com")`, `u = "mongodb://h/db"`, `u = "https://h:80/x"`,
		`db.author.find()`, `a.authors == 3`, `show collections`, `t = x ? y : z`, `tokens.length == 3`, `compass`, `db.passengers.drop()`,
		`passwordPrompt()`, `db.c.find({ email: "a@b.c" })`,
	} {
		if history.IsSensitive(input) {
			t.Errorf("not kept: %s", input)
		}
	}
}
