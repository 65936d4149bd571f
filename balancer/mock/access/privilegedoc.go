package access

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// Document returns the privilege in the format of command replies: {resource, actions}.
func (p Privilege) Document() bson.D {
	names := bson.A{}
	for _, a := range p.Actions {
		names = append(names, string(a))
	}
	return bson.D{{Key: "resource", Value: p.Resource.document()}, {Key: "actions", Value: names}}
}

func (r Resource) document() bson.D {
	switch {
	case r.Any:
		return bson.D{{Key: "anyResource", Value: true}}
	case r.Cluster:
		return bson.D{{Key: "cluster", Value: true}}
	}
	field := "collection"
	if r.Buckets {
		field = "system_buckets"
	}
	return bson.D{{Key: "db", Value: r.Database}, {Key: field, Value: r.Collection}}
}

// ReadPrivilege reads {resource, actions}. Errors are FailedToParse and
// TypeMismatch.
func ReadPrivilege(doc bson.Raw) (Privilege, error) {
	resource, isDoc := doc.Lookup("resource").DocumentOK()
	if !isDoc {
		return Privilege{}, mongoerr.New(mongoerr.FailedToParse, "a privilege needs a field 'resource' that is an object")
	}
	var p Privilege
	var err error
	if p.Resource, err = readResource(resource); err != nil {
		return p, err
	}
	array, isArray := doc.Lookup("actions").ArrayOK()
	if !isArray {
		return p, mongoerr.New(mongoerr.FailedToParse, "a privilege needs a field 'actions' that is an array")
	}
	values, err := array.Values()
	if err != nil {
		return p, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	for _, v := range values {
		name, isText := v.StringValueOK()
		if !isText {
			return p, mongoerr.New(mongoerr.TypeMismatch, "the actions of a privilege must be strings")
		}
		if !Action(name).IsKnown() {
			return p, mongoerr.New(mongoerr.FailedToParse, "Unrecognized action privilege strings: %s", name)
		}
		p.Actions = append(p.Actions, Action(name))
	}
	if len(values) == 0 {
		return p, mongoerr.New(mongoerr.FailedToParse, "a privilege needs at least one action")
	}
	return p, nil
}

func readResource(doc bson.Raw) (Resource, error) {
	if b, ok := doc.Lookup("cluster").BooleanOK(); ok && b && fieldCount(doc) == 1 {
		return ClusterResource(), nil
	}
	if b, ok := doc.Lookup("anyResource").BooleanOK(); ok && b && fieldCount(doc) == 1 {
		return AnyResource(), nil
	}
	db, isDB := doc.Lookup("db").StringValueOK()
	if series, is := doc.Lookup("system_buckets").StringValueOK(); is && isDB && fieldCount(doc) == 2 {
		return Resource{Database: db, Collection: series, Buckets: true}, nil
	}
	collection, isCollection := doc.Lookup("collection").StringValueOK()
	if !isDB || !isCollection || fieldCount(doc) != 2 {
		return Resource{}, mongoerr.New(mongoerr.FailedToParse,
			"a privilege's resource is {db, collection}, {cluster: true} or {anyResource: true}, not %s", doc)
	}
	return CollectionResource(db, collection), nil
}

func fieldCount(doc bson.Raw) int {
	elems, err := doc.Elements()
	if err != nil {
		return -1
	}
	return len(elems)
}
