package router

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

// checkAPIVersion checks the three Stable API parameters.
func checkAPIVersion(c *call.Call, cmd *call.Command) error {
	version, strict := c.Body.Lookup("apiVersion"), c.Body.Lookup("apiStrict")
	if version.IsZero() && strict.IsZero() && c.Body.Lookup("apiDeprecationErrors").IsZero() {
		return nil
	}
	for _, name := range []string{"apiStrict", "apiDeprecationErrors"} {
		if v := c.Body.Lookup(name); !v.IsZero() && v.Type != bson.TypeBoolean {
			return mongoerr.New(mongoerr.TypeMismatch,
				"BSON field 'APIParametersFromClient.%s' is the wrong type '%s', expected type 'bool'", name, args.TypeName(v.Type))
		}
	}
	if version.IsZero() {
		return mongoerr.New(mongoerr.NoAPIVersion,
			"Provided apiStrict and/or apiDeprecationErrors without passing apiVersion")
	}
	text, isText := version.StringValueOK()
	switch {
	case !isText:
		return mongoerr.New(mongoerr.TypeMismatch,
			"BSON field 'APIParametersFromClient.apiVersion' is the wrong type '%s', expected type 'string'",
			args.TypeName(version.Type))
	case text != "1":
		return mongoerr.New(mongoerr.APIVersionError, "API version must be \"1\"")
	case args.IsTrueOrNonzero(strict) && !cmd.Stable:
		return mongoerr.New(mongoerr.APIStrictError, "Provided apiStrict:true, but the command %s is not in API Version 1",
			cmd.Name)
	case args.IsTrueOrNonzero(strict) && cmd.Name == "aggregate":
		return checkStableStages(c.Body.Lookup("pipeline"))
	}
	return nil
}

// unstableStages are the stages outside of Stable API version 1 (MongoDB manual, "Stable API").
var unstableStages = map[string]bool{
	"$currentOp": true, "$indexStats": true, "$listClusterCatalog": true, "$listLocalSessions": true,
	"$listSampledQueries": true, "$listSearchIndexes": true, "$listSessions": true, "$planCacheStats": true,
	"$queryStats": true, "$search": true, "$searchMeta": true, "$shardedDataDistribution": true,
	"$vectorSearch": true,
}

// checkStableStages rejects a pipeline that has unstable stages under apiStrict.
func checkStableStages(pipeline bson.RawValue) error {
	for name := range call.StageNames(pipeline) {
		if unstableStages[name] {
			return mongoerr.New(mongoerr.APIStrictError, "stage %s is not allowed with 'apiStrict: true' in API Version 1", name)
		}
	}
	return nil
}
