package bindings

import (
	"context"

	"github.com/dop251/goja"

	"shardsh/bindings/cursor"
	"shardsh/bindings/replicaset"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
	"shardsh/bindings/sh"
	"shardsh/bindings/values"
)

// Render formats a result as the shell shows it (rules/04-values-and-language §3.1), without a trailing
// newline; empty for undefined. An interactive shell shows the next page of a cursor. Other shells show
// as many documents as Config.ResultLimit says.
func (s *Shell) Render(ctx context.Context, r script.Result) (string, error) {
	if r.IsUndefined() {
		return "", nil
	}
	var text string
	_, err := s.JS.RunProtected(ctx, func() (goja.Value, error) {
		var err error
		text, err = s.JS.Try(func() string { return s.display.Render(r.Value) })
		return nil, err
	})
	return text, err
}

// renderSpecial renders cursors. It throws for sh and rs without a connection.
func (s *Shell) renderSpecial(v goja.Value) (string, bool) {
	_, isShard := script.Receiver[*sh.Helpers](v)
	_, isReplicaSet := script.Receiver[*replicaset.Object](v)
	if isShard || isReplicaSet {
		server.RequireDatabase(s.JS, s.current.ServerDatabase())
	}
	cur, ok := script.Receiver[*cursor.Cursor](v)
	if !ok || cur.IsChangeStream {
		return "", false
	}
	if cur.ExplainVerbosity != "" {
		return s.display.Render(cur.ExplainOutput()), true
	}
	return s.renderPage(cur), true
}

// renderPage renders the next documents of a cursor, and says whether there are more.
func (s *Shell) renderPage(cur *cursor.Cursor) string {
	size := s.settings.DisplayBatchSize
	switch limit := s.cfg.ResultLimit; {
	case s.cfg.Interactive || limit == 0:
	case limit < 0:
		size = cursor.UnlimitedPage
	default:
		size = limit
	}
	items := cur.NextPage(size)
	more := cur.MayHaveMore()
	if len(items) == 0 {
		return ""
	}
	o := s.display.InspectOptions()
	o.MaxItems = values.Unlimited
	text := s.JS.Values.Inspect(s.JS.Runtime.NewArray(items...), o)
	if more && (s.cfg.Interactive || s.cfg.ResultLimit == 0) {
		text += "\nType \"it\" for more"
	}
	return text
}
