package collections

import (
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

// checkExpiry checks a TTL index: it has one field other than _id, and its seconds fit an int32.
func checkExpiry(spec *store.IndexSpec, v bson.RawValue) error {
	seconds := expiryOf(v)
	first, err := spec.Key.IndexErr(0)
	if err != nil {
		return mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	elems, _ := spec.Key.Elements()
	switch {
	case len(elems) == 1 && first.Key() == "_id":
		return mongoerr.New(mongoerr.InvalidIndexSpecificationOption,
			"The field 'expireAfterSeconds' is not valid for an _id index specification. Specification: %s", spec.Key)
	case len(elems) > 1:
		return mongoerr.New(mongoerr.CannotCreateIndex,
			"TTL indexes are single-field indexes, compound indexes do not support TTL. Index spec: %s", spec.Key)
	}
	return checkSeconds(mongoerr.CannotCreateIndex, seconds)
}

// expiryOf returns the expireAfterSeconds of an index. As on servers, NaN and a value that is not a
// number count as the maximum.
func expiryOf(v bson.RawValue) float64 {
	seconds, isNumber := args.Number(v)
	if !isNumber || math.IsNaN(seconds) {
		return math.MaxInt32
	}
	return seconds
}

func checkSeconds(code mongoerr.Code, seconds float64) error {
	if !(seconds >= 0 && seconds <= math.MaxInt32) { // also NaN
		return mongoerr.New(code,
			"TTL index 'expireAfterSeconds' option must be within an acceptable range, try a different value than %v", seconds)
	}
	return nil
}

// checkNewExpiry checks the expireAfterSeconds of a collMod.
func checkNewExpiry(spec store.IndexSpec, v bson.RawValue) error {
	if elems, _ := spec.Key.Elements(); len(elems) > 1 || spec.Name == "_id_" {
		return mongoerr.New(mongoerr.InvalidOptions,
			"TTL indexes are single-field indexes, compound indexes do not support TTL. Index spec: %s", spec.Key)
	}
	seconds, _ := args.Number(v)
	return checkSeconds(mongoerr.InvalidOptions, seconds)
}

// modifyExpiry executes a collMod of an index's expireAfterSeconds, which checkNewExpiry accepts. It
// returns the value before, if it was a TTL index, and after.
func modifyExpiry(
	cluster *mock.Cluster,
	ns string,
	spec store.IndexSpec,
	v bson.RawValue,
) (oldDoc, newDoc bson.D, err error) {
	seconds, _ := args.Number(v)
	before, expired, err := cluster.Indexes().SetExpiry(ns, spec.Name, int64(seconds))
	if err != nil {
		return nil, nil, err
	}
	const option = "expireAfterSeconds"
	if expired {
		oldDoc = bson.D{{Key: option, Value: before}}
	}
	return oldDoc, bson.D{{Key: option, Value: int64(seconds)}}, nil
}
