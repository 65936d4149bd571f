package reads

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

// takeOutput removes $out or $merge from the end of a pipeline.
func takeOutput(c *call.Call, stages []bson.Raw) (Output, []bson.Raw, error) {
	if len(stages) == 0 {
		return nil, stages, nil
	}
	name, spec, err := call.Stage(stages[len(stages)-1])
	if err != nil {
		return nil, stages, err
	}
	var o Output
	switch name {
	case "$out":
		o, err = readOut(c, spec)
	case "$merge":
		o, err = readMerge(c, spec)
	default:
		return nil, stages, nil
	}
	if level, _ := c.Body.Lookup("readConcern", "level").StringValueOK(); level == "linearizable" && err == nil {
		err = mongoerr.New(mongoerr.InvalidOptions,
			"Aggregate command cannot run with a readConcern other than 'local' or 'majority', or in a multi-document "+
				"transaction, with %s", name)
	}
	return o, stages[:len(stages)-1], err
}

// outStage implements $out: it replaces a collection by the results.
type outStage struct{ ns string }

func readOut(c *call.Call, spec bson.RawValue) (Output, error) {
	db, coll := c.DB, ""
	switch spec.Type {
	case bson.TypeString:
		coll = spec.StringValue()
	case bson.TypeEmbeddedDocument:
		elems, err := spec.Document().Elements()
		if err != nil {
			return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
		}
		for _, e := range elems {
			text, isText := e.Value().StringValueOK()
			switch {
			case e.Key() == "timeseries":
				return nil, mongoerr.New(mongoerr.NotImplemented, "the mock does not support time-series collections")
			case e.Key() != "db" && e.Key() != "coll":
				return nil, mongoerr.New(mongoerr.IDLUnknownField, "BSON field '$out.%s' is an unknown field.", e.Key())
			case !isText:
				return nil, mongoerr.New(mongoerr.TypeMismatch,
					"BSON field '$out.%s' is the wrong type '%s', expected type 'string'", e.Key(), args.TypeName(e.Value().Type))
			case e.Key() == "db":
				db = text
			default:
				coll = text
			}
		}
		if spec.Document().Lookup("coll").IsZero() || spec.Document().Lookup("db").IsZero() {
			return nil, mongoerr.New(mongoerr.IDLFailedToParse, "BSON field '$out.%s' is missing but a required field",
				map[bool]string{true: "coll", false: "db"}[coll == ""])
		}
	default:
		return nil, mongoerr.New(16990, "$out only supports a string or object argument, but found %s",
			args.TypeName(spec.Type))
	}
	ns, err := outputNamespace("$out", db, coll, 31321)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(coll, "system.") {
		return nil, mongoerr.New(17385, "Can't $out to special collection: %s", ns)
	}
	if c.Cluster.ConfigDB().Table(ns) != nil {
		return nil, mongoerr.New(28769, "namespace '%s' is sharded so it can't be used for $out'", ns)
	}
	return outStage{ns}, nil
}

func outputNamespace(stage, db, coll string, internal mongoerr.Code) (string, error) {
	if db == "config" || db == "local" || db == "admin" {
		return "", mongoerr.New(internal, "Cannot %s to internal database: %s", stage, db)
	}
	if _, _, err := catalog.SplitNamespace(db + "." + coll); err != nil || coll == "" {
		return "", mongoerr.New(mongoerr.InvalidNamespace, "Invalid %s target namespace, %s.%s", stage, db, coll)
	}
	return db + "." + coll, nil
}

func (o outStage) write(c *call.Call, results []bson.Raw) error {
	return c.Request.ReplaceCollection(o.ns, results)
}
