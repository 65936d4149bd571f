package main

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mongoerr"
	"shardsh/bindings"
	"shardsh/cmd/shardsh/secret"
)

// guard makes --read-only and --dry-run: nil when neither is on.
func (env environment) guard(o commandLine) bindings.Guard {
	if !o.readOnly && !o.dryRun {
		return nil
	}
	table := commands.ByName()
	return func(database string, command bson.Raw) (bson.Raw, error) {
		elems, err := command.Elements()
		if err != nil || len(elems) == 0 {
			return nil, err
		}
		if commands.ReadsOnly(table, command) {
			return nil, nil
		}
		if o.readOnly {
			return nil, mongoerr.New(mongoerr.IllegalOperation, "--read-only refuses the command %s", elems[0].Key())
		}
		text, err := bson.MarshalExtJSON(commands.WithoutSecrets(command), false, false)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(env.toldJSON(), "would send to %s: %s\n", database, secret.Redact(string(text)))
		return bson.Marshal(bson.D{{Key: "ok", Value: 1.0}, {Key: "dryRun", Value: true}})
	}
}
