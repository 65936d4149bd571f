package collections

import (
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

// checkExpiry: a TTL index is on one field, but not _id, and its seconds fit an
// int32.
func checkExpiry(spec *store.IndexSpec, v bson.RawValue) error {
	seconds, isNumber := args.Number(v)
	first, err := spec.Key.IndexErr(0)
	if err != nil {
		return mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	elems, _ := spec.Key.Elements()
	switch {
	case !isNumber:
		return mongoerr.New(mongoerr.TypeMismatch, "The field 'expireAfterSeconds' must be a number, but got %s",
			args.TypeName(v.Type))
	case len(elems) == 1 && first.Key() == "_id":
		return mongoerr.New(mongoerr.InvalidIndexSpecificationOption,
			"The field 'expireAfterSeconds' is not valid for an _id index specification. Specification: %s", spec.Key)
	case len(elems) > 1:
		return mongoerr.New(mongoerr.CannotCreateIndex,
			"TTL indexes are single-field indexes, compound indexes do not support TTL. Index spec: %s", spec.Key)
	}
	return checkSeconds(mongoerr.CannotCreateIndex, seconds)
}

func checkSeconds(code mongoerr.Code, seconds float64) error {
	if seconds < 0 || seconds > math.MaxInt32 {
		return mongoerr.New(code,
			"TTL index 'expireAfterSeconds' option must be within an acceptable range, try a different value than %v", seconds)
	}
	return nil
}

// modifyExpiry is collMod of an index's expireAfterSeconds. It tells what it was, if
// it was a TTL index, and what it is.
func modifyExpiry(cluster *mock.Cluster, ns string, spec store.IndexSpec, v bson.RawValue) (was, is bson.D, err error) {
	seconds, isNumber := args.Number(v)
	if !isNumber {
		return nil, nil, mongoerr.New(mongoerr.TypeMismatch,
			"BSON field 'collMod.index.expireAfterSeconds' is the wrong type '%s', expected types '[long, int, decimal, "+
				"double]'", args.TypeName(v.Type))
	}
	if elems, _ := spec.Key.Elements(); len(elems) > 1 || spec.Name == "_id_" {
		return nil, nil, mongoerr.New(mongoerr.InvalidOptions,
			"TTL indexes are single-field indexes, compound indexes do not support TTL. Index spec: %s", spec.Key)
	}
	if err := checkSeconds(mongoerr.InvalidOptions, seconds); err != nil {
		return nil, nil, err
	}
	before, expired, err := cluster.Indexes().SetExpiry(ns, spec.Name, int64(seconds))
	if err != nil {
		return nil, nil, err
	}
	const option = "expireAfterSeconds"
	if expired {
		was = bson.D{{Key: option, Value: before}}
	}
	return was, bson.D{{Key: option, Value: int64(seconds)}}, nil
}
