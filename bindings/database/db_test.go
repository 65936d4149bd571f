package database_test

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/shelltest"
)

// TestUsersAndRoles: what is sent for each helper, and what is refused before.
func TestUsersAndRoles(t *testing.T) {
	c := shelltest.Connect(t)
	answers := map[string]bson.D{"usersInfo": ok(field("users", bson.A{})), "rolesInfo": ok(field("roles", bson.A{}))}
	for _, name := range strings.Fields("createUser updateUser dropUser createRole updateRole dropRole grantRolesToUser revokeRolesFromUser grantRolesToRole revokeRolesFromRole grantPrivilegesToRole revokePrivilegesFromRole dropAllUsersFromDatabase dropAllRolesFromDatabase") {
		answers[name] = ok()
	}
	c.SetAnswers(answers)
	missing := func(name string) string {
		return `MongoshInvalidInputError: [COMMON-10001] Missing required property: "` + name + `"`
	}
	shelltest.Check(t, c, []shelltest.Case{
		{`db.createUser({user: "u", pwd: "p", roles: ["r"], customData: {a: 1}}, {w: 1})`, `app {"createUser":"u","pwd":"p","roles":["r"],"customData":{"a":1},"writeConcern":{"w":1}}`, "{ ok: 1 }"},
		{`db.createUser({user: "u", pwd: "p", roles: [], passwordDigestor: "server"})`, `app {"createUser":"u","pwd":"p","roles":[],"digestPassword":true}`, ""},
		// the hash is md5("u:mongo:p"), by MongoDB's own rule
		{`db.createUser({user: "u", pwd: "p", roles: [], passwordDigestor: "client"})`, `app {"createUser":"u","pwd":"d4198ee555320fa5c048da6d6da440d8","roles":[],"digestPassword":false}`, ""},
		{`db.createUser({user: "u", pwd: "p", roles: [], passwordDigestor: "x"})`, "", "MongoshInvalidInputError: [COMMON-10001] Invalid field: passwordDigestor must be 'client' or 'server', got x"},
		{`db.createUser({user: "u"})`, "", missing("roles")},
		{`passwordPrompt = () => "typed"; db.createUser({user: "u", roles: []})`, `app {"createUser":"u","roles":[],"pwd":"typed"}`, "{ ok: 1 }"},
		{`db.createUser({user: "u", pwd: "p", roles: [], createUser: 1})`, "", "MongoshInvalidInputError: [COMMON-10001] Cannot set createUser field in helper method"},
		{`db.getSiblingDB("$external").createUser({user: "u", roles: []})`, `$external {"createUser":"u","roles":[]}`, ""},
		{`db.getSiblingDB("$external").createUser({user: "u", pwd: "p", roles: []})`, "", "MongoshInvalidInputError: [COMMON-10001] Cannot set password for users on the $external database"},
		{`db.updateUser("u", {roles: ["r"]})`, `app {"updateUser":"u","roles":["r"]}`, ""},
		{`db.changeUserPassword("u", "p")`, `app {"updateUser":"u","pwd":"p"}`, ""},
		{`db.dropUser("u", {w: 1})`, `app {"dropUser":"u","writeConcern":{"w":1}}`, ""},
		{`db.dropAllUsers()`, `app {"dropAllUsersFromDatabase":1}`, ""},
		{`db.grantRolesToUser("u", ["r"])`, `app {"grantRolesToUser":"u","roles":["r"]}`, ""},
		{`db.revokeRolesFromUser("u", ["r"])`, `app {"revokeRolesFromUser":"u","roles":["r"]}`, ""},
		{`db.getUser("u")`, `app {"usersInfo":{"user":"u","db":"app"}}`, "null"},
		{`db.getUsers({showCredentials: true}).ok`, `app {"usersInfo":1,"showCredentials":true}`, "1"},
		{`db.createRole({role: "r", privileges: [], roles: []})`, `app {"createRole":"r","privileges":[],"roles":[]}`, ""},
		{`db.createRole({role: "r", roles: []})`, "", missing("privileges")},
		{`db.updateRole("r", {roles: []})`, `app {"updateRole":"r","roles":[]}`, ""},
		{`db.dropRole("r")`, `app {"dropRole":"r"}`, ""},
		{`db.dropAllRoles()`, `app {"dropAllRolesFromDatabase":1}`, ""},
		{`db.grantRolesToRole("r", ["s"])`, `app {"grantRolesToRole":"r","roles":["s"]}`, ""},
		{`db.grantPrivilegesToRole("r", [{}])`, `app {"grantPrivilegesToRole":"r","privileges":[{}]}`, ""},
		{`db.revokePrivilegesFromRole("r", [{}])`, `app {"revokePrivilegesFromRole":"r","privileges":[{}]}`, ""},
		{`db.getRole("r", {showPrivileges: true})`, `app {"rolesInfo":{"role":"r","db":"app"},"showPrivileges":true}`, "null"},
		{`db.getRoles().ok`, `app {"rolesInfo":1}`, "1"},
	})
	c.Config.Interactive = false // nobody to ask
	shelltest.Check(t, c, []shelltest.Case{{`db.createUser({user: "u", roles: []})`, "", missing("pwd")}})
}

// TestDatabaseAdministration is the rest of rules/04-objects §6.1.
func TestDatabaseAdministration(t *testing.T) {
	c := shelltest.Connect(t)
	c.SetAnswers(map[string]bson.D{
		"getParameter": ok(field("logComponentVerbosity", bson.D{field("verbosity", int32(0))})),
		"listCommands": ok(field("commands", bson.D{field("find", bson.D{field("slaveOk", true), field("help", "h")})})),
		"find":         ok(field("help", "finds")), "profile": ok(field("was", int32(1))),
		"fsync": ok(), "fsyncUnlock": ok(), "shutdown": ok(), "rotateCertificates": ok(), "create": ok(), "hostInfo": ok(), "getCmdLineOpts": ok(),
	})
	shelltest.Check(t, c, []shelltest.Case{
		{`db.getLogComponents()`, `admin {"getParameter":1,"logComponentVerbosity":1}`, "{ verbosity: 0 }"},
		{`db.setLogLevel(1, 5)`, "", "MongoshInvalidInputError: [COMMON-10001] setLogLevel component must be a string: got number"},
		{`db.listCommands().find`, `app {"listCommands":1}`, "{ help: 'h', secondaryOk: true }"},
		{`db.commandHelp("find")`, `app {"find":1,"help":true}`, "finds"},
		{`db.commandHelp("dbStats")`, "", "MongoshRuntimeError: [COMMON-10004] Error running command commandHelp "},
		{`db.getProfilingStatus().was`, `app {"profile":-1}`, "1"},
		{`db.getProfilingLevel()`, `app {"profile":-1}`, "1"},
		{`db.setProfilingLevel(2, {slowms: 5, sampleRate: 0.5}).was`, `app {"profile":2,"slowms":5,"sampleRate":0.5}`, "1"},
		{`db.setProfilingLevel(3)`, "", "MongoshInvalidInputError: [COMMON-10001] Input level 3 is out of range [0..2]"},
		{`db.fsyncLock().ok`, `admin {"fsync":1,"lock":true}`, "1"},
		{`db.fsyncUnlock().ok`, `admin {"fsyncUnlock":1}`, "1"},
		{`db.shutdownServer({force: true}).ok`, `admin {"shutdown":1,"force":true}`, "1"},
		{`db.rotateCertificates("m").ok`, `admin {"rotateCertificates":1,"message":"m"}`, "1"},
		{`db.hostInfo().ok + db.serverCmdLineOpts().ok`, `admin {"hostInfo":1}` + "\n" + `admin {"getCmdLineOpts":1}`, "2"},
		{`db.createView("v", "orders", {$match: {a: 1}}, {collation: {locale: "de"}})`, `app {"create":"v","viewOn":"orders","pipeline":[{"$match":{"a":1}}],"collation":{"locale":"de"}}`, "{ ok: 1 }"},
		{`db.printCollectionStats(0)`, "", "MongoshInvalidInputError: [COMMON-10001] scale has to be a number >=1, got 0"},
		{`db.printCollectionStats("x")`, "", "MongoshInvalidInputError: [COMMON-10001] scale has to be a number >=1, got x"},
		{`db.cloneDatabase()`, "", "MongoshDeprecatedError: [COMMON-10003] `cloneDatabase()` was removed because it was deprecated in MongoDB 4.0"},
		{`db.getCollection("$x")`, "", "MongoshInvalidInputError: [COMMON-10001] Invalid collection name: $x"},
		{`db.getSiblingDB("a.b")`, "", "MongoshInvalidInputError: [COMMON-10001] Invalid database name: a.b"},
		{`db = 5`, "", "MongoshInvalidInputError: [COMMON-10002] Cannot reassign 'db' to non-Database type"},
		{`db._nope`, "", ""},
		{`db.aggregate({$currentOp: {}}, {$limit: 1}).itcount() >= 0`, `app {"aggregate":1,"pipeline":[{"$currentOp":{}},{"$limit":1}],"cursor":{}}`, "true"},
	})
}
