package sharding

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

func clusterParameterHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"getClusterParameter": getClusterParameter,
		"setClusterParameter": setClusterParameter,
	}
}

// getClusterParameter returns one parameter by name, several, or all with "*" (rules/03-commands §1.10).
func getClusterParameter(c *call.Call) (bson.D, error) {
	names, err := requestedClusterParameters(c.Cluster, c.Body.Lookup("getClusterParameter"))
	if err != nil {
		return nil, err
	}
	shown := bson.A{}
	for _, name := range names {
		doc, err := c.Cluster.ClusterParameters().Get(name)
		if err != nil {
			return nil, err
		}
		shown = append(shown, doc)
	}
	return bson.D{{Key: "clusterParameters", Value: shown}}, nil
}

func requestedClusterParameters(cluster *mock.Cluster, v bson.RawValue) ([]string, error) {
	if name, isText := v.StringValueOK(); isText {
		if name == "*" {
			return cluster.ClusterParameters().Names(), nil
		}
		return []string{name}, nil
	}
	values, err := v.Array().Values()
	if err != nil {
		return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	if len(values) == 0 {
		return nil, mongoerr.New(mongoerr.BadValue,
			"Must supply at least one cluster server parameter name to getClusterParameter")
	}
	var names []string
	for i, v := range values {
		name, isText := v.StringValueOK()
		if !isText {
			return nil, mongoerr.New(mongoerr.TypeMismatch,
				"BSON field 'getClusterParameter.getClusterParameter.%d' is the wrong type '%s', expected type 'string'", i,
				args.TypeName(v.Type))
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// setClusterParameter sets one parameter: {name: {field: value}}.
func setClusterParameter(c *call.Call) (bson.D, error) {
	elems, err := c.Args.Object("setClusterParameter").Elements()
	switch {
	case err != nil:
		return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	case len(elems) == 0:
		return nil, mongoerr.New(mongoerr.NoSuchKey, "Unknown server parameter: ''")
	}
	if len(elems) != 1 {
		return nil, mongoerr.New(mongoerr.InvalidOptions, "setClusterParameter only supports setting exactly one parameter")
	}
	value, isDoc := elems[0].Value().DocumentOK()
	if !isDoc {
		return nil, mongoerr.New(mongoerr.IllegalOperation, "Cluster parameter value must be an object")
	}
	return bson.D{}, c.Cluster.ClusterParameters().Set(elems[0].Key(), value)
}
