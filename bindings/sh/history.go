package sh

import (
	"cmp"

	"shardsh/balancer/action"
	"shardsh/bindings/actiontext"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// shardHistoryMethods returns the helpers that show who has changed the cluster.
func shardHistoryMethods() []helper {
	return []helper{
		{"history", "options?:object{audit,since,ns,verb,last}", shHistory,
			"Returns who has changed the cluster, with which verb, plan and command, and what became of it, the newest last: " +
				"the last 20; {audit: file | \"cluster\", since: \"24h\", ns, verb, last}."},
	}
}

func shHistory(c *call, sh *Helpers) goja.Value {
	h := c.options("history", 0)
	verb := action.ReadAuditLog{
		AuditDestination: cmp.Or(h.text("audit"), c.host.Consent.HistorySource()), MaxAge: h.duration("since", 0),
		Verb: h.text("verb"),
		Last: action.DefaultAuditLogEntries,
	}
	if ns := h.text("ns"); ns != "" {
		verb.Namespaces = []string{ns}
	}
	if h.value("last") != nil {
		verb.Last = int(h.count("last"))
	}
	var client *mongo.Client
	if verb.ReadsCluster() {
		client = sh.current().Conn.Client
	} else {
		c.checkMayRead(verb.AuditDestination)
	}
	result, err := verb.Run(c.JS.Context(), client, c.JS.Clock.Now())
	if err != nil {
		sh.throwActionError("history", nil, err, "", false)
	}
	list := c.host.jsonFormObject(result.Records)
	c.JS.Values.SetPrinter(list, func() string { return actiontext.History(result) })
	return list
}
