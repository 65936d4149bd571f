package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/plaintext"
	"shardsh/cmd/shardsh/cmdline"
)

// mistypedVerb returns the verb that an address is nearly; empty for what is an address, or
// far from any verb.
func mistypedVerb(address string) string {
	if strings.ContainsAny(address, "./:") {
		return ""
	}
	var names []string
	for _, v := range verbs() {
		names = append(names, v.name)
	}
	return plaintext.Mistyped(address, names)
}

// checkDatabase refuses a name that is nearly a verb's and of no database that the cluster
// has. Whoever may not list databases has it as it was entered.
func checkDatabase(ctx context.Context, o *clusterFlags, conn *connection) error {
	name := cmp.Or(o.server.Address, o.database)
	verb := mistypedVerb(name)
	if verb == "" || conn.client == nil {
		return nil
	}
	list, err := conn.client.ListDatabaseNames(ctx, bson.D{{Key: "name", Value: name}})
	if err == nil && len(list) == 0 {
		return unknownWord(name, verb)
	}
	return nil
}

func unknownWord(name, verb string) error {
	return usagef("%q is neither a verb, a file nor a database of the cluster; did you mean shardsh %s? "+
		"To begin a database of that name: shardsh HOST/%s", name, verb, name)
}

// orMistyped adds to the error of a connection which verb may have been meant.
func orMistyped(o *clusterFlags, err error) error {
	if verb := mistypedVerb(o.server.Address); verb != "" {
		return cmdline.UsageError{Err: fmt.Errorf("%w; did you mean shardsh %s?", err, verb)}
	}
	return err
}
