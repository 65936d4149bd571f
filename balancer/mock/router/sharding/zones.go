package sharding

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

// zoneHandlers returns the zone commands. The aliases read the field of the main command name and so
// always fail with NoSuchKey (rules/03-commands §1.6).
func zoneHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"addShardToZone":      addShardToZone,
		"removeShardFromZone": removeShardFromZone,
		"updateZoneKeyRange":  updateZoneKeyRange,
	}
}

func addShardToZone(c *call.Call) (bson.D, error) {
	shard, zone, err := shardAndZone(c, "addShardToZone")
	if err != nil {
		return nil, err
	}
	return bson.D{}, c.Cluster.Zones().AddShard(shard, zone)
}

func removeShardFromZone(c *call.Call) (bson.D, error) {
	shard, zone, err := shardAndZone(c, "removeShardFromZone")
	if err != nil {
		return nil, err
	}
	return bson.D{}, c.Cluster.Zones().RemoveShard(shard, zone)
}

func shardAndZone(c *call.Call, command string) (shard, zone string, err error) {
	if shard, err = c.RequiredText(command); err != nil {
		return "", "", err
	}
	zone, err = c.RequiredText("zone")
	return shard, zone, err
}

func updateZoneKeyRange(c *call.Call) (bson.D, error) {
	ns, err := c.RequiredText("updateZoneKeyRange")
	if err != nil {
		return nil, err
	}
	if _, _, err := catalog.SplitNamespace(ns); err != nil {
		return nil, err
	}
	lower, err := readBound(c, "min")
	if err != nil {
		return nil, err
	}
	upper, err := readBound(c, "max")
	if err != nil {
		return nil, err
	}
	if keyorder.CompareDocuments(lower, upper) >= 0 {
		return nil, mongoerr.New(mongoerr.FailedToParse, "min: %s should be less than max: %s", lower, upper)
	}
	if v := c.Body.Lookup("zone"); v.Type == bson.TypeNull {
		return bson.D{}, c.Cluster.Zones().Unassign(ns, lower, upper)
	}
	zone, isText := c.Body.Lookup("zone").StringValueOK()
	if v := c.Body.Lookup("zone"); !isText && !v.IsZero() {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "\"zone\" had the wrong type. Expected string or null, found %s",
			args.TypeName(v.Type))
	}
	if _, err := c.RequiredText("zone"); err != nil {
		return nil, err
	}
	return bson.D{}, c.Cluster.Zones().Assign(ns, lower, upper, zone)
}

func readBound(c *call.Call, name string) (bson.Raw, error) {
	v := c.Body.Lookup(name)
	if v.IsZero() {
		return nil, mongoerr.New(mongoerr.NoSuchKey,
			"The field '%s' cannot be parsed :: caused by :: Missing expected field \"%s\"", name, name)
	}
	doc, isDoc := v.DocumentOK()
	if !isDoc {
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"The field '%s' cannot be parsed :: caused by :: \"%s\" had the wrong type. Expected object, found %s", name, name,
			args.TypeName(v.Type))
	}
	if document.IsEmpty(doc) {
		return nil, mongoerr.New(mongoerr.BadValue, "The field '%s' cannot be empty", name)
	}
	return doc, nil
}
