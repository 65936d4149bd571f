package commands

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
)

// IsReadOnly reports whether a command as sent changes nothing on any server. This depends neither on
// what the mock implements nor on the server's release. An unknown command counts as writing. So does a
// command with a duplicate key, because some servers read the first value and some the last.
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

// otherReadCommands are server commands that this package's table lacks: of shard members and of older
// releases.
var otherReadCommands = []string{
	"availableQueryOptions", "checkShardingIndex", "cursorInfo", "driverOIDTest", "geoNear", "geoSearch",
	"getChangeStreamState", "getLastError", "getlasterror", "getPrevError", "getShardingReady", "getnonce",
	"listDatabasesForAllTenants", "parallelCollectionScan", "planCacheListPlans", "planCacheListQueryShapes",
	"replSetGetRBID", "shardConnPoolStats", "whatsmysni",
}

// readsByBody are the commands that write or not depending on their fields.
var readsByBody = map[string]func(cmd *Command, body bson.Raw) bool{
	"aggregate": func(_ *Command, body bson.Raw) bool {
		return args.IsTrueOrNonzero(body.Lookup("explain")) || !writesAnywhere(body.Lookup("pipeline"))
	},
	// A server's explain never executes the write.
	"explain": func(*Command, bson.Raw) bool { return true },
	// Servers read the option as a bool; any other value could count as true on some server.
	"validate": func(_ *Command, body bson.Raw) bool {
		return !args.IsTruthy(body.Lookup("repair")) && !args.IsTruthy(body.Lookup("fixMultikey"))
	},
	// A negative level reads the present level. Any other option would be set.
	"profile": func(cmd *Command, body bson.Raw) bool {
		level, isNumber := args.Number(body.Lookup("profile"))
		return isNumber && level == -1 && hasOnlyGenericFields(body, cmd.Name)
	},
	// Old releases write to a collection unless the out option says otherwise.
	"mapReduce": func(_ *Command, body bson.Raw) bool {
		out, _ := body.Lookup("out").DocumentOK()
		elems, err := out.Elements()
		return err == nil && len(elems) == 1 && elems[0].Key() == "inline"
	},
}

// hasOnlyGenericFields reports whether a command has only its own name and fields that every command
// accepts.
func hasOnlyGenericFields(body bson.Raw, name string) bool {
	elems, err := body.Elements()
	return err == nil && !slices.ContainsFunc(elems, func(e bson.RawElement) bool {
		return e.Key() != name && !args.IsGeneric(e.Key())
	})
}

// writesAnywhere reports whether a pipeline or a nested pipeline has $out or $merge. An invalid pipeline
// counts as writing. A document field named $out or $merge may give a false positive.
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
