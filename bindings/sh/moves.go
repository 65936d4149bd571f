package sh

import (
	"fmt"
	"time"

	"shardsh/balancer/humanize"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/live"
	"shardsh/balancer/report"
	"shardsh/bindings/display"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// showMigrations shows what is under way, then the last migrations, the newest
// first, then how those of a day ended.
func showMigrations(c *call, d *server.Database) goja.Value {
	r := c.s.statusOf(d, d.Sibling("config"), live.Outcomes|live.Migrations|live.Reshardings|live.Moves)
	if c.s.Display.ShowsTables() {
		return c.s.Display.ShowTables(r.moveTables)
	}
	p := r.seen.Parts()
	return c.s.Display.ShownValue(c.JS.NewObject(
		"active", c.s.activeMigrations(p.Migrations), "reshardings", c.s.activeReshardings(p.Reshardings),
		"last", r.lastMoves(), "last 24 hours", r.migrationResults(),
	))
}

// moves returns the last migrations, the newest first.
func (r *statusReport) moves() (list []report.Event) {
	for _, e := range report.HistoryOf(r.seen.Snapshot).Events {
		if e.Kind == report.Moved || e.Kind == report.MoveFailed {
			list = append(list, e)
		}
	}
	return list
}

func (r *statusReport) lastMoves() *goja.Object {
	moves := r.moves()
	items := make([]any, len(moves))
	for i, e := range moves {
		o := r.s.JS.NewObject("ns", e.Namespace, "from", string(e.From), "to", string(e.To),
			"min", r.key(e.Lower), "max", r.key(e.Upper), "time", r.s.timeOrNull(e.Time), "tookMS", e.Took.Milliseconds())
		if e.Error == "" {
			script.Must(o.Set("bytes", e.Bytes))
		} else {
			script.Must(o.Set("error", e.Error))
		}
		items[i] = o
	}
	return r.s.JS.Runtime.NewArray(items...)
}

// key returns a bound as a value.
func (r *statusReport) key(bound bson.Raw) goja.Value {
	if bound == nil {
		return goja.Null()
	}
	return r.s.JS.Values.DocToJS(bound)
}

func (r *statusReport) moveTables(t *display.Tables) {
	moves := r.moves()
	t.Heading("Migrations")
	r.underWay(t)
	if len(moves) > 0 {
		t.Heading("Recent migrations")
		t.Grid(moveGrid(moves, r.now))
	}
	r.outcomeLines(t)
}

// moveGrid is a row for each migration.
func moveGrid(moves []report.Event, now time.Time) (header []string, rows [][]string) {
	for _, e := range moves {
		size, span := humanize.Bytes(e.Bytes), "?"
		if e.Error != "" {
			size = ""
		}
		if e.Lower != nil && e.Upper != nil {
			span = fmt.Sprintf("%s to %s", bound(e.Lower), bound(e.Upper))
		}
		rows = append(rows, []string{
			humanize.Duration(now.Sub(e.Time)), e.Namespace, span, string(e.From), string(e.To), size,
			humanize.Duration(e.Took), e.Error,
		})
	}
	return []string{"ago#", "collection", "range", "from", "to", "data#", "took#", "error"}, rows
}
