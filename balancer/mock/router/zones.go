package router

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mongoerr"
)

// The aliases look for the canonical field name and so always fail with
// NoSuchKey (spec 03 §1.6).
func zoneHandlers() map[string]handler {
	return map[string]handler{
		"addShardToZone":      addShardToZone,
		"removeShardFromZone": removeShardFromZone,
		"updateZoneKeyRange":  updateZoneKeyRange,
	}
}

// text reads a required string field by hand: 4 when it is missing, 14 for
// another type.
func (c *call) text(name string) (string, error) {
	v := c.body.Lookup(name)
	if v.IsZero() {
		return "", mongoerr.New(mongoerr.NoSuchKey, "Missing expected field \"%s\"", name)
	}
	s, isText := v.StringValueOK()
	if !isText {
		return "", mongoerr.New(mongoerr.TypeMismatch, "\"%s\" had the wrong type. Expected string, found %s", name,
			args.TypeName(v.Type))
	}
	return s, nil
}

func addShardToZone(c *call) (bson.D, error) {
	shard, zone, err := c.shardAndZone("addShardToZone")
	if err != nil {
		return nil, err
	}
	return bson.D{}, c.cluster.ConfigDB().AddShardToZone(shard, zone)
}

func removeShardFromZone(c *call) (bson.D, error) {
	shard, zone, err := c.shardAndZone("removeShardFromZone")
	if err != nil {
		return nil, err
	}
	return bson.D{}, c.cluster.ConfigDB().RemoveShardFromZone(shard, zone)
}

func (c *call) shardAndZone(command string) (shard, zone string, err error) {
	if shard, err = c.text(command); err != nil {
		return "", "", err
	}
	zone, err = c.text("zone")
	return shard, zone, err
}

func updateZoneKeyRange(c *call) (bson.D, error) {
	ns, err := c.text("updateZoneKeyRange")
	if err != nil {
		return nil, err
	}
	if _, _, err := catalog.SplitNamespace(ns); err != nil {
		return nil, err
	}
	lower, err := c.bound("min")
	if err != nil {
		return nil, err
	}
	upper, err := c.bound("max")
	if err != nil {
		return nil, err
	}
	if keyorder.CompareDocuments(lower, upper) >= 0 {
		return nil, mongoerr.New(mongoerr.FailedToParse, "min: %s should be less than max: %s", lower, upper)
	}
	if v := c.body.Lookup("zone"); v.Type == bson.TypeNull {
		return bson.D{}, c.cluster.ConfigDB().UnassignZone(ns, lower, upper)
	}
	zone, err := c.text("zone")
	if err != nil {
		return nil, err
	}
	return bson.D{}, c.cluster.ConfigDB().AssignZone(ns, lower, upper, zone)
}

func (c *call) bound(name string) (bson.Raw, error) {
	v := c.body.Lookup(name)
	if v.IsZero() {
		return nil, mongoerr.New(mongoerr.NoSuchKey, "Missing expected field \"%s\"", name)
	}
	doc, isDoc := v.DocumentOK()
	if !isDoc {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "\"%s\" had the wrong type. Expected object, found %s", name,
			args.TypeName(v.Type))
	}
	if len(doc) <= 5 {
		return nil, mongoerr.New(mongoerr.BadValue, "%s must not be empty", name)
	}
	return doc, nil
}
