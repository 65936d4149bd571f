package router

import (
	"errors"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

// withQuery returns a planner error with the query in its text, as a shard gives it, if the filter is empty or tests
// one field for one value; otherwise without the query. A find's error also has a prefix. Pipelines keep err.
func withQuery(cmd *call.Command, c *call.Call, err error) error {
	refusal, isPlanner := errors.AsType[*store.PlannerError](err)
	if !isPlanner {
		return err
	}
	field, options, projection := "query", "", "{}"
	switch cmd.Name {
	case "find":
		field, projection = "filter", documentText(c, "projection")
		for _, name := range []string{"batchSize", "limit", "skip"} {
			if n, isNumber := args.Number(c.Body.Lookup(name)); isNumber && n != 0 {
				options += fmt.Sprintf(" %s=%v", name, n)
			}
		}
	case "findAndModify":
		options = " limit=1"
	case "distinct", "count":
	default:
		return err
	}
	if tree, isSimple := filterTree(c, field); isSimple {
		collation := ""
		if text := documentText(c, "collation"); text != "{}" {
			collation = "Collation: " + text + "\n"
		}
		code, _ := mongoerr.CodeOf(err)
		err = mongoerr.New(code, "error processing query: ns=%s%sTree: %s\nSort: %s\nProj: %s\n%s planner returned error "+
			":: caused by :: %s", c.TargetNamespace(cmd), options, tree, documentText(c, "sort"), projection, collation,
			refusal.Text)
	}
	if cmd.Name == "find" {
		return mongoerr.Wrap(err, "Encountered non-retryable error during query")
	}
	return err
}

func documentText(c *call.Call, name string) string {
	doc, isDoc := c.Body.Lookup(name).DocumentOK()
	if !isDoc {
		return "{}"
	}
	return mongoerr.Text(doc)
}

// filterTree returns a filter in the servers' format. isSimple is false for several conditions and for operators.
func filterTree(c *call.Call, field string) (text string, isSimple bool) {
	doc, _ := c.Body.Lookup(field).DocumentOK()
	elems, err := doc.Elements()
	switch {
	case len(elems) == 0:
		return "$and", err == nil
	case len(elems) > 1 || strings.HasPrefix(elems[0].Key(), "$"):
		return "", false
	}
	switch v := elems[0].Value(); v.Type {
	case bson.TypeEmbeddedDocument, bson.TypeArray, bson.TypeRegex:
		return "", false
	default:
		return fmt.Sprintf("%s $eq %s", elems[0].Key(), mongoerr.ValueText(v)), true
	}
}
