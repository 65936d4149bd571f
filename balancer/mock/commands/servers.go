package commands

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
)

// serverCommands returns the commands for a server, its parameters and its diagnostics.
func serverCommands() []Command {
	return []Command{
		{Name: "hello", Stable: true, WithoutLock: true, Effect: Reads, NoAuth: true},
		{Name: "isMaster", Aliases: []string{"ismaster"}, WithoutLock: true, Effect: Reads, NoAuth: true},
		{
			Name: "ping", Stable: true, WithoutLock: true, Effect: Reads, NoAuth: true, Strict: true,
			Fields: fields(required(args.Any, "ping")),
		},
		{Name: "whatsmyuri", Effect: Reads, NoAuth: true},

		{Name: "buildInfo", Aliases: []string{"buildinfo"}, Effect: Reads, NoAuth: true},
		{
			Name: "getLog", AdminOnly: true, Effect: Reads, Privilege: access.OnCluster("getLog"), ParsedAt: Late,
			Strict: true, Fields: fields(required(args.String, "getLog")),
		},
		{
			Name: "hostInfo", Effect: Reads, Privilege: access.OnCluster("hostInfo"), Strict: true,
			Fields: fields(required(args.Any, "hostInfo")),
		},
		// A server of release 8.0 rejects other fields; pt-mongodb-summary sends one.
		{
			Name: "getCmdLineOpts", AdminOnly: true, Effect: Reads,
			Privilege: access.OnCluster("getCmdLineOpts"),
		},
		{Name: "listCommands", Effect: Reads, NoAuth: true},
		{Name: "serverStatus", Effect: Reads, Privilege: access.OnCluster("serverStatus")},
		{Name: "isdbgrid", Effect: Reads, NoAuth: true},
		{Name: "netstat", AdminOnly: true, Effect: Reads, Privilege: access.OnCluster("netstat")},
		{Name: "getShardMap", AdminOnly: true, Effect: Reads, Privilege: access.OnCluster("getShardMap")},
		{
			Name: "getShardVersion", Aliases: []string{"getshardversion"}, AdminOnly: true, Effect: Reads,
			Privilege: access.OnNamedNamespace("getShardVersion"), ParsedAt: NameFirst,
			Fields: fields(required(args.OldAnyNamespace, "getShardVersion")),
		},
		{
			Name: "getDatabaseVersion", Since: catalog.Release42, AdminOnly: true, Effect: Reads,
			Privilege: access.OnNamedNamespace("getDatabaseVersion"),
			Fields:    fields(required(args.Database, "getDatabaseVersion")),
		},
		{
			Name: "flushRouterConfig", Aliases: []string{"flushrouterconfig"}, AdminOnly: true, Effect: Writes,
			Privilege: access.OnCluster("flushRouterConfig"),
		},

		{Name: "getParameter", AdminOnly: true, Effect: Reads, Privilege: access.OnCluster("getParameter")},
		{Name: "setParameter", AdminOnly: true, Effect: Writes, Privilege: access.OnCluster("setParameter")},

		{
			Name: "getClusterParameter", Since: catalog.Release60, AdminOnly: true, Effect: Reads,
			Privilege: access.OnCluster("getClusterParameter"),
			Fields:    fields(required(args.Names, "getClusterParameter")),
		},
		{
			Name: "setClusterParameter", Since: catalog.Release60, AdminOnly: true, WriteConcern: true,
			Effect: Writes, Privilege: access.OnCluster("setClusterParameter"),
			Fields: fields(required(args.Object, "setClusterParameter")),
		},

		{
			Name: "transitionFromDedicatedConfigServer", Since: catalog.Release80, AdminOnly: true,
			WriteConcern: true, Contacts: ConfigServer, Effect: Writes,
			Privilege: access.OnCluster("transitionFromDedicatedConfigServer"), Strict: true,
			Fields: fields(required(args.Any, "transitionFromDedicatedConfigServer")),
		},
		{
			Name: "transitionToDedicatedConfigServer", Since: catalog.Release80, AdminOnly: true,
			WriteConcern: true, Contacts: ConfigServer, Effect: Writes,
			Privilege: access.OnCluster("transitionToDedicatedConfigServer"),
		},
		{
			Name: "setFeatureCompatibilityVersion", AdminOnly: true, WriteConcern: true, Effect: Writes,
			Privilege: access.OnCluster("setFeatureCompatibilityVersion"),
		},
		{
			Name: "getDefaultRWConcern", AdminOnly: true, Effect: Reads,
			Privilege: access.OnCluster("getDefaultRWConcern"), Strict: true,
			Fields: fields(required(args.Any, "getDefaultRWConcern"), optional(args.Bool, "inMemory")),
		},
		{
			Name: "setDefaultRWConcern", AdminOnly: true, WriteConcern: true, Effect: Writes,
			Privilege: access.OnCluster("setDefaultRWConcern"), ParsedAt: Late, Strict: true,
			Fields: fields(
				required(args.Any, "setDefaultRWConcern"),
				optional(args.Object, "defaultReadConcern", "defaultWriteConcern"),
			),
		},
		{
			Name: "features", Effect: Reads, NoAuth: true, Strict: true,
			Fields: fields(required(args.Any, "features"), optional(args.SafeBool, "oidReset")),
		},
		{
			Name: "profile", Effect: Writes, Privilege: access.OnDatabase("enableProfiler"), ParsedAt: Late,
			Strict: true,
			Fields: fields(
				required(args.SafeInt, "profile"), optional(args.SafeInt, "slowms"), optional(args.Any, "sampleRate", "filter"),
			),
		},
		{
			Name: "replSetGetStatus", AdminOnly: true, Effect: Reads,
			Privilege: access.OnCluster("replSetGetStatus"),
		},
		{Name: "refreshLogicalSessionCacheNow", AdminOnly: true, Effect: Writes, Privilege: access.LoggedIn},
		{Name: "reapLogicalSessionCacheNow", AdminOnly: true, Effect: Writes, Privilege: access.LoggedIn},
		{
			Name: "planCacheClear", Effect: Writes, Privilege: access.OnCollection("planCacheWrite"),
			ParsedAt: NameFirst, Fields: fields(required(args.OldCollection, "planCacheClear")),
		},

		{Name: "connPoolStats", Effect: Reads, Privilege: access.OnCluster("connPoolStats")},
		{Name: "connPoolSync", Effect: Writes, Privilege: access.OnCluster("connPoolSync")},
		{
			Name: "dropConnections", AdminOnly: true, Effect: Writes,
			Privilege: access.OnCluster("dropConnections"), Strict: true,
			Fields: fields(required(args.Any, "dropConnections"), required(args.Array, "hostAndPort")),
		},
		{Name: "echo", Effect: Reads, NoAuth: true},
		{Name: "filemd5", Effect: Reads, Privilege: access.OnCollection("find")},
		{Name: "fsync", AdminOnly: true, Effect: Writes, Privilege: access.OnCluster("fsync")},
		{Name: "fsyncUnlock", AdminOnly: true, Effect: Writes, Privilege: access.OnCluster("unlock")},
		{
			Name: "getDiagnosticData", AdminOnly: true, Effect: Reads,
			Privilege: access.OnCluster("serverStatus"),
		},
		{
			Name: "invalidateUserCache", AdminOnly: true, Effect: Writes,
			Privilege: access.OnCluster("invalidateUserCache"), Strict: true,
			Fields: fields(required(args.Any, "invalidateUserCache")),
		},
		{Name: "lockInfo", AdminOnly: true, Effect: Reads, Privilege: access.OnCluster("serverStatus")},
		{
			Name: "rotateFTDC", Since: catalog.Release80, AdminOnly: true, Effect: Writes,
			Privilege: access.OnCluster("serverStatus"), Strict: true, Fields: fields(required(args.Any, "rotateFTDC")),
		},
		{Name: "logRotate", AdminOnly: true, Effect: Writes, Privilege: access.OnCluster("logRotate")},
		{
			Name: "planCacheListFilters", Effect: Reads, Privilege: access.OnCollection("planCacheIndexFilter"),
			ParsedAt: NameFirst, Fields: fields(required(args.OldCollection, "planCacheListFilters")),
		},
		{
			Name: "planCacheClearFilters", Effect: Writes,
			Privilege: access.OnCollection("planCacheIndexFilter"),
			ParsedAt:  NameFirst, Fields: fields(required(args.OldCollection, "planCacheClearFilters")),
		},
		{Name: "_isSelf", Effect: Reads, NoAuth: true},
	}
}
