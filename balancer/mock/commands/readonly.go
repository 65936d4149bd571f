package commands

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
)

// IsReadOnly reports whether a command, as it was sent, changes nothing on any
// server: neither what the mock implements of it counts, nor what the server's
// release would. What nobody knows may change anything, and so may what has a
// key twice, since servers read now the first and now the last.
func IsReadOnly(table map[string]*Command, body bson.Raw) bool {
	if args.CheckDuplicateKeys(body) != nil {
		return false
	}
	name := args.FirstKey(body)
	cmd := table[name]
	if cmd == nil {
		return slices.Contains(otherReadCommands, name)
	}
	if reads, depends := readsByBody[cmd.Name]; depends {
		return reads(cmd, body)
	}
	return cmd.Effect == Reads
}

// otherReadCommands are commands of servers that are in no table here: members of
// shards, and older releases.
var otherReadCommands = []string{
	"availableQueryOptions", "checkShardingIndex", "cursorInfo", "driverOIDTest", "geoNear", "geoSearch",
	"getChangeStreamState", "getLastError", "getlasterror", "getPrevError", "getShardingReady", "getnonce",
	"listDatabasesForAllTenants", "parallelCollectionScan", "planCacheListPlans", "planCacheListQueryShapes",
	"replSetGetRBID", "shardConnPoolStats", "shardingState", "whatsmysni",
}

// readsByBody are the commands of which some change something and some don't.
var readsByBody = map[string]func(cmd *Command, body bson.Raw) bool{
	"aggregate": func(_ *Command, body bson.Raw) bool {
		return args.Truth(body.Lookup("explain")) || !writesAnywhere(body.Lookup("pipeline"))
	},
	// Servers explain what a write would do and leave it at that.
	"explain": func(*Command, bson.Raw) bool { return true },
	// It is read like a bool everywhere; whatever else it is may be one to a server.
	"validate": func(_ *Command, body bson.Raw) bool {
		return !args.IsTruthy(body.Lookup("repair")) && !args.IsTruthy(body.Lookup("fixMultikey"))
	},
	// A level below zero asks for the present one. Any option would be set.
	"profile": func(cmd *Command, body bson.Raw) bool {
		level, isNumber := args.Number(body.Lookup("profile"))
		return isNumber && level == -1 && hasOnlyGenericFields(body, cmd.Name)
	},
	// What an old release writes where nothing is said is a collection.
	"mapReduce": func(_ *Command, body bson.Raw) bool {
		out, _ := body.Lookup("out").DocumentOK()
		elems, err := out.Elements()
		return err == nil && len(elems) == 1 && elems[0].Key() == "inline"
	},
}

// hasOnlyGenericFields reports whether a command has no fields but those that every command
// takes, and its own name.
func hasOnlyGenericFields(body bson.Raw, name string) bool {
	elems, err := body.Elements()
	return err == nil && !slices.ContainsFunc(elems, func(e bson.RawElement) bool {
		return e.Key() != name && !args.IsGeneric(e.Key())
	})
}

// writesAnywhere reports whether a pipeline, or one inside it, has $out or
// $merge, or is none. It may take a field of that name for one.
func writesAnywhere(v bson.RawValue) bool {
	array, isArray := v.ArrayOK()
	return !isArray || hasOutput(bson.Raw(array))
}

func hasOutput(doc bson.Raw) bool {
	elems, err := doc.Elements()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(elems, func(e bson.RawElement) bool {
		if e.Key() == "$out" || e.Key() == "$merge" {
			return true
		}
		if inner, isDoc := e.Value().DocumentOK(); isDoc {
			return hasOutput(inner)
		}
		inner, isArray := e.Value().ArrayOK()
		return isArray && hasOutput(bson.Raw(inner))
	})
}
