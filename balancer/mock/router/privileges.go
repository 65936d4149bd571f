package router

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

// asking is a call whose caller's roles are looked at.
type asking struct {
	*call
	node *node
	cmd  *command
	may  *access.Grants
}

// rule tells whether a caller may run a command.
type rule func(asking) bool

// privilegesOf has what each command needs (spec 03 §1.1, and MongoDB's
// documentation for the others): an action and where. Commands that anyone may
// run, logged in or not, say so in the command table instead. A command that
// is missing here is refused to all.
func privilegesOf() map[string]rule {
	settings, shards, tags := access.On("config", "settings"), access.On("config", "shards"), access.On("config", "tags")
	zones := onCluster("enableSharding")
	return map[string]rule{
		"balancerStart": on(settings, "update"), "balancerStop": on(settings, "update"), "balancerStatus": on(settings, "find"),
		"balancerCollectionStatus": onSubject("enableSharding"), "configureCollectionBalancing": mayConfigureBalancing,
		"setAllowMigrations": onSubject("moveChunk"),

		"moveChunk": onSubject("moveChunk"), "moveRange": onSubject("moveChunk"), "movePrimary": onSubject("moveChunk"),
		"split": onSubject("splitChunk"), "mergeChunks": onSubject("splitChunk"), "mergeAllChunksOnShard": onSubject("splitChunk"),
		"clearJumboFlag": onSubject("clearJumboFlag"), "splitVector": onCollection("splitVector"),

		"enableSharding": onSubject("enableSharding"), "shardCollection": onSubject("enableSharding"),
		"refineCollectionShardKey": onSubject("refineCollectionShardKey"), "reshardCollection": onSubject("reshardCollection"),
		"abortReshardCollection": onSubject("reshardCollection"), "commitReshardCollection": onSubject("reshardCollection"),
		"cleanupReshardCollection": onSubject("reshardCollection"),
		"moveCollection":           onSubject("moveCollection"), "abortMoveCollection": onSubject("moveCollection"),
		"unshardCollection": onSubject("unshardCollection"), "abortUnshardCollection": onSubject("unshardCollection"),
		"untrackUnshardedCollection": onSubject("unshardCollection"),
		"analyzeShardKey":            onSubject("analyzeShardKey"), "configureQueryAnalyzer": onSubject("configureQueryAnalyzer"),

		"addShardToZone":      either(zones, on(shards, "update")),
		"removeShardFromZone": either(zones, all(on(shards, "find", "update"), on(tags, "find"))),
		"updateZoneKeyRange":  either(zones, all(on(shards, "find"), on(tags, "find", "update", "remove"))),

		"addShard": onCluster("addShard"), "removeShard": onCluster("removeShard"), "listShards": onCluster("listShards"),
		"transitionFromDedicatedConfigServer": onCluster("transitionFromDedicatedConfigServer"),
		"transitionToDedicatedConfigServer":   onCluster("transitionToDedicatedConfigServer"),
		"getShardMap":                         onCluster("getShardMap"), "getShardVersion": onSubject("getShardVersion"),
		"getDatabaseVersion": onSubject("getDatabaseVersion"), "flushRouterConfig": onCluster("flushRouterConfig"),
		"checkMetadataConsistency": either(onCluster("checkMetadataConsistency"), onCollection("checkMetadataConsistency")),
		"netstat":                  onCluster("netstat"),

		"find": onCollection("find"), "count": onCollection("find"), "distinct": onCollection("find"), "aggregate": mayAggregate,
		"explain": mayExplain, "getMore": loggedIn, "killCursors": loggedIn, // both look at who made the cursor
		"insert": mayInsert, "update": mayUpdate, "delete": onCollection("remove"), "findAndModify": mayFindAndModify,
		"bulkWrite": mayBulkWrite,

		"create": mayCreate, "drop": onCollection("dropCollection"), "dropDatabase": onDatabase("dropDatabase"),
		"renameCollection": mayRename, "collMod": mayModify, "validate": onCollection("validate"),
		"createIndexes": onCollection("createIndex"), "dropIndexes": onCollection("dropIndex"), "listIndexes": onCollection("listIndexes"),
		"listCollections": mayListCollections, "listDatabases": mayListDatabases,
		"collStats": onCollection("collStats"), "dbStats": onDatabase("dbStats"), "dataSize": onSubject("find"),
		"planCacheClear": onCollection("planCacheWrite"), "profile": onDatabase("enableProfiler"),

		"serverStatus": onCluster("serverStatus"), "hostInfo": onCluster("hostInfo"), "getLog": onCluster("getLog"),
		"getCmdLineOpts": onCluster("getCmdLineOpts"), "getParameter": onCluster("getParameter"), "setParameter": onCluster("setParameter"),
		"currentOp": either(ownOperations, onCluster("inprog")), "killOp": either(onCluster("killop"), ofOwnOperation),
		"getDefaultRWConcern": onCluster("getDefaultRWConcern"), "setDefaultRWConcern": onCluster("setDefaultRWConcern"),
		"setFeatureCompatibilityVersion": onCluster("setFeatureCompatibilityVersion"), "replSetGetStatus": onCluster("replSetGetStatus"),

		"connPoolStats": onCluster("connPoolStats"), "connPoolSync": onCluster("connPoolSync"), "dropConnections": onCluster("dropConnections"),
		"getDiagnosticData": onCluster("serverStatus"), "lockInfo": onCluster("serverStatus"), "logRotate": onCluster("logRotate"),
		"fsync": onCluster("fsync"), "fsyncUnlock": onCluster("unlock"), "invalidateUserCache": onCluster("invalidateUserCache"),
		"planCacheListFilters": onCollection("planCacheIndexFilter"), "planCacheClearFilters": onCollection("planCacheIndexFilter"),
		"convertToCapped":     onCollection("convertToCapped"),
		"getClusterParameter": onCluster("getClusterParameter"), "setClusterParameter": onCluster("setClusterParameter"),

		"startSession": loggedIn, "refreshSessions": loggedIn, "killSessions": loggedIn, // one's own only
		"killAllSessions": onCluster("killAnySession"), "commitTransaction": loggedIn, "abortTransaction": loggedIn,
		"refreshLogicalSessionCacheNow": loggedIn, "reapLogicalSessionCacheNow": loggedIn,

		"createUser": all(onDatabase("createUser"), mayGrant), "updateUser": mayUpdateUser,
		"dropUser": onDatabase("dropUser"), "dropAllUsersFromDatabase": onDatabase("dropUser"), "usersInfo": mayViewUsers,
		"grantRolesToUser": mayGrant, "revokeRolesFromUser": mayRevoke,
		"createRole": all(onDatabase("createRole"), mayGrant, mayGrantPrivileges),
		"updateRole": all(onDatabase("revokeRole"), mayGrant, mayGrantPrivileges),
		"dropRole":   onDatabase("dropRole"), "dropAllRolesFromDatabase": onDatabase("dropRole"), "rolesInfo": mayViewRoles,
		"grantRolesToRole": mayGrant, "revokeRolesFromRole": mayRevoke,
		"grantPrivilegesToRole": mayGrantPrivileges, "revokePrivilegesFromRole": mayRevokePrivileges,

		// The mock's own: who may end a server may also break it.
		"mockStatus": loggedIn, "mockNow": loggedIn, "mockInvariants": loggedIn,
		"mockAdvance": onCluster("shutdown"), "mockAddShard": onCluster("shutdown"), "mockCrash": onCluster("shutdown"),
		"mockRestart": onCluster("shutdown"), "mockPartition": onCluster("shutdown"), "mockHeal": onCluster("shutdown"),
		"mockSlow": onCluster("shutdown"), "mockFailNext": onCluster("shutdown"), "mockStepDown": onCluster("shutdown"),
		"mockFill": onCluster("shutdown"), "mockSave": onCluster("shutdown"), "mockLoad": onCluster("shutdown"),
		"configureFailPoint": onCluster("shutdown"),
	}
}

// on wants actions on a resource that is always the same.
func on(r access.Resource, actions ...access.Action) rule {
	return func(a asking) bool { return a.may.Allows(r, actions...) }
}

func onCluster(actions ...access.Action) rule { return on(access.TheCluster(), actions...) }

// onCollection wants actions on the collection that the command's value names,
// or on the database where it names none.
func onCollection(actions ...access.Action) rule {
	return func(a asking) bool { return a.may.Allows(a.target(), actions...) }
}

// onSubject wants actions on the namespace, or database, that the command's
// value is.
func onSubject(actions ...access.Action) rule {
	return func(a asking) bool {
		return a.may.Allows(access.OnNamespace(args.Text(a.body.Lookup(a.invoked))), actions...)
	}
}

func onDatabase(actions ...access.Action) rule {
	return func(a asking) bool { return a.may.Allows(access.In(a.db), actions...) }
}

func either(rules ...rule) rule {
	return func(a asking) bool { return slices.ContainsFunc(rules, func(r rule) bool { return r(a) }) }
}

func all(rules ...rule) rule {
	return func(a asking) bool { return !slices.ContainsFunc(rules, func(r rule) bool { return !r(a) }) }
}

// loggedIn wants nothing more.
func loggedIn(asking) bool { return true }

// target is the collection that the command's value names in its database.
func (c *call) target() access.Resource { return access.On(c.db, args.Text(c.body.Lookup(c.invoked))) }

// user is who the connection is logged in as, with the roles of now; nil
// without, or where the user was dropped.
func (n *node) user(p *peer) *access.User {
	if p.user == nil {
		return nil
	}
	u, _ := n.users.Find(p.user.Database, p.user.Name)
	return u
}

// is tells whether a connection is logged in as a user, or as nobody where that
// is nil.
func (p *peer) is(u *access.User) bool {
	if p.user == nil || u == nil {
		return p.user == u
	}
	return p.user.Name == u.Name && p.user.Database == u.Database
}

// grants are what a connection may do. Where nobody has to log in it is nil,
// and not asked.
func (n *node) grants(p *peer) *access.Grants {
	if p.user == nil {
		return nil
	}
	g, _ := n.users.Grants(p.user.Database, p.user.Name)
	return g
}

// checkPrivileges refuses what the caller's roles do not allow.
func (r *Router) checkPrivileges(cmd *command, c *call) error {
	if !r.authRequired || cmd.anyone {
		return nil
	}
	if err := r.authorize(cmd, c); err != nil {
		return err // the user has gone since the command came
	}
	a := asking{c, r.node, cmd, r.grants(c.peer)}
	if cmd.privilege != nil && cmd.privilege(a) {
		return nil
	}
	return c.unauthorized()
}

// unauthorized is the server's refusal of a command.
func (c *call) unauthorized() error {
	return mongoerr.New(mongoerr.Unauthorized, "not authorized on %s to execute command %s", c.db, store.Shown(c.withoutSecrets()))
}

// withoutSecrets is the command as an error may show it: without passwords,
// and without the documents of a write.
func (c *call) withoutSecrets() bson.Raw {
	elems, err := c.body.Elements()
	if err != nil {
		return nil
	}
	shown := bson.D{}
	for _, e := range elems {
		switch name := e.Key(); {
		case name == "pwd":
			shown = append(shown, bson.E{Key: name, Value: "xxx"})
		case slices.Contains([]string{"documents", "updates", "deletes", "ops"}, name):
		default:
			shown = append(shown, bson.E{Key: name, Value: e.Value()})
		}
	}
	if c.body.Lookup("$db").IsZero() {
		shown = append(shown, bson.E{Key: "$db", Value: c.db})
	}
	raw, err := bson.Marshal(shown)
	if err != nil {
		return nil
	}
	return raw
}

func mayConfigureBalancing(a asking) bool {
	wanted := []access.Action{"splitChunk"}
	if args.Truth(a.body.Lookup("defragmentCollection")) || !a.body.Lookup("enableBalancing").IsZero() {
		wanted = append(wanted, "moveChunk")
	}
	return onSubject(wanted...)(a)
}

// ownOperations: everybody sees their own.
func ownOperations(a asking) bool { return args.Truth(a.body.Lookup("$ownOps")) }

// ofOwnOperation: everybody may kill their own commands on the mongos.
func ofOwnOperation(a asking) bool {
	n, isNumber := a.body.Lookup("op").AsInt64OK()
	return isNumber && slices.ContainsFunc(a.node.operations.list(), func(op operation) bool {
		return int64(op.id) == n && op.call.peer.name() == a.peer.name()
	})
}

func mayListDatabases(a asking) bool {
	only := a.body.Lookup("authorizedDatabases")
	return only.IsZero() || args.Truth(only) || onCluster("listDatabases")(a)
}

// mayListCollections: whoever may not list all may list those that they may do
// something with, and only their names.
func mayListCollections(a asking) bool {
	return onDatabase("listCollections")(a) ||
		args.Truth(a.body.Lookup("nameOnly")) && args.Truth(a.body.Lookup("authorizedCollections")) && a.may.AllowsSomeIn(a.db)
}

// showsDatabase tells whether listDatabases may show one to the caller.
func showsDatabase(c *call) func(name string) bool {
	may := c.node.grants(c.peer)
	only := c.body.Lookup("authorizedDatabases")
	if !c.node.authRequired || !args.Truth(only) && may.Allows(access.TheCluster(), "listDatabases") {
		return func(string) bool { return true }
	}
	return may.AllowsSomeIn
}

// showsCollection tells whether listCollections may show one to the caller.
func showsCollection(c *call) func(name string) bool {
	if !c.node.authRequired || !args.Truth(c.body.Lookup("authorizedCollections")) {
		return func(string) bool { return true }
	}
	may := c.node.grants(c.peer)
	return func(name string) bool { return may.AllowsSome(access.On(c.db, name)) }
}

func mayCreate(a asking) bool {
	on := args.Text(a.body.Lookup("viewOn"))
	if on != "" {
		return a.may.Allows(a.target(), "createCollection") && a.may.Allows(access.On(a.db, on), "find") && mayRunPipeline(a, on, a.body.Lookup("pipeline"))
	}
	if args.Truth(a.body.Lookup("capped")) {
		return a.may.Allows(a.target(), "createCollection", "convertToCapped")
	}
	return a.may.Allows(a.target(), "createCollection") || a.may.Allows(a.target(), "insert")
}

func mayModify(a asking) bool {
	on := args.Text(a.body.Lookup("viewOn"))
	return a.may.Allows(a.target(), "collMod") &&
		(on == "" || a.may.Allows(access.On(a.db, on), "find") && mayRunPipeline(a, on, a.body.Lookup("pipeline")))
}

// mayRename: within a database there is an action of its own; else it takes
// what a copy would.
func mayRename(a asking) bool {
	from, to := access.OnNamespace(args.Text(a.body.Lookup(a.invoked))), access.OnNamespace(args.Text(a.body.Lookup("to")))
	replaces := args.Truth(a.body.Lookup("dropTarget"))
	if from.Database == to.Database && a.may.Allows(from, "renameCollectionSameDB") && a.may.Allows(to, "renameCollectionSameDB") {
		return (a.may.Allows(from, "find") || !a.may.Allows(to, "find")) && (!replaces || a.may.Allows(to, "dropCollection"))
	}
	return a.may.Allows(from, "find", "dropCollection") && a.may.Allows(to, "createCollection", "createIndex", "insert") &&
		(!replaces || a.may.Allows(to, "dropCollection"))
}

// mayExplain: what is explained must be allowed.
func mayExplain(a asking) bool {
	inner, _ := a.body.Lookup("explain").DocumentOK()
	name := args.FirstKey(inner)
	cmd := a.node.commands[name]
	if cmd == nil || cmd.privilege == nil {
		return true // not to be explained
	}
	of := *a.call
	of.body, of.invoked = inner, name
	return cmd.privilege(asking{&of, a.node, cmd, a.may})
}
