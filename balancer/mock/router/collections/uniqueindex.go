package collections

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

// modifyUnique executes a collMod that converts an index to a unique one: prepareUnique rejects new
// duplicates, then unique converts the index if there are no duplicates. requested is false if the command
// has neither option. A unique index cannot be converted back.
func modifyUnique(
	c *call.Call,
	ns string,
	spec store.IndexSpec,
	doc bson.Raw,
) (oldDoc, newDoc bson.D, requested bool, err error) {
	for _, name := range []string{"unique", "prepareUnique", "forceNonUnique"} {
		v := doc.Lookup(name)
		if v.IsZero() || v.Type == bson.TypeNull {
			continue
		}
		switch name {
		case "forceNonUnique":
			err = mongoerr.New(mongoerr.NotImplemented,
				"the mock's collMod does not take forceNonUnique: drop the index and create another")
		case "unique":
			newDoc, err = makeUnique(c, ns, spec, args.IsTrueOrNonzero(v))
		default:
			oldDoc, newDoc, err = prepareUnique(c.Cluster, ns, spec, args.IsTrueOrNonzero(v))
		}
		return oldDoc, newDoc, true, err
	}
	return nil, nil, false, nil
}

func prepareUnique(cluster *mock.Cluster, ns string, spec store.IndexSpec, on bool) (oldDoc, newDoc bson.D, err error) {
	if spec.Unique {
		return nil, nil, nil
	}
	before, err := cluster.Indexes().PrepareUnique(ns, spec, on)
	oldDoc, newDoc = boolChange("prepareUnique", before, on)
	return oldDoc, newDoc, err
}

func makeUnique(c *call.Call, ns string, spec store.IndexSpec, on bool) (bson.D, error) {
	switch {
	case !on:
		return nil, mongoerr.New(mongoerr.BadValue, "'unique: false' is not supported")
	case spec.Unique:
		return nil, nil
	case !args.IsTrueOrNonzero(spec.Options.Lookup("prepareUnique")):
		return nil, mongoerr.New(mongoerr.InvalidOptions,
			"Cannot make index unique with 'prepareUnique=false'. Run collMod to set it first.")
	}
	trial := args.IsTrueOrNonzero(c.Body.Lookup("dryRun"))
	if err := c.Cluster.Indexes().MakeUnique(ns, spec.Name, trial); err != nil || trial {
		return nil, err
	}
	return bson.D{{Key: "unique", Value: true}}, nil
}
