package diagnosis

import (
	"fmt"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
)

// UnindexedFindings finds shards without an index for the shard key. Nothing can be moved off them.
// From 8.0 on, the balancer disables itself for a collection whose hashed shard key has lost its index.
func UnindexedFindings(c *catalog.CollectionState) []Finding {
	if len(c.Unindexed) == 0 {
		return nil
	}
	commands := []string{fmt.Sprintf("%s.createIndex(%s)", CollectionExpr(c.Namespace), keyLiteral(c.Pattern))}
	if c.NoBalance {
		commands = append(commands, enableCommand(c.Namespace, DisabledNoBalance)...)
	}
	f := finding(ShardKeyIndexMissing, Scope{Namespace: c.Namespace}, fmt.Sprintf(
		"%s has no index on its shard key on %s: no chunk can be moved off",
		c.Namespace, humanize.Join(c.Unindexed, " ")), commands...)
	f.Numbers = countNumbers("shards", int64(len(c.Unindexed)))
	return []Finding{f}
}

// CollectionExpr returns the expression for a collection in the shell.
func CollectionExpr(ns string) string {
	db, name, err := catalog.SplitNamespace(ns)
	if err != nil {
		return ns
	}
	return fmt.Sprintf("db.getSiblingDB(%q).getCollection(%q)", db, name)
}

// keyLiteral returns the literal of a key pattern in the shell.
func keyLiteral(p catalog.KeyPattern) string { return humanize.Literal(p.Doc()) }
