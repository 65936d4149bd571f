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

// showMigrations shows the running operations, then the last migrations, the newest first, then the
// outcomes of the last day.
func showMigrations(c *call, d *server.Database) goja.Value {
	r := c.host.readStatusReport(d, d.Sibling("config"),
		live.MigrationOutcomes|live.RunningMigrations|live.RunningReshardings|live.RecentMoves)
	if c.host.Display.ShowsTables() {
		return c.host.Display.TablesResult(r.drawMoves)
	}
	p := r.cluster.Parts()
	return c.host.Display.ShowResult(c.JS.NewObject(
		"active", c.host.migrationsObject(p.Migrations), "reshardings", c.host.reshardingsObject(p.Reshardings),
		"last", r.recentMovesValue(), "last 24 hours", r.migrationResults(),
	))
}

// recentMoves returns the last migrations, the newest first.
func (r *statusReport) recentMoves() (list []report.Event) {
	for _, e := range report.NewDayHistory(r.cluster.Snapshot).Events {
		if e.Kind == report.Moved || e.Kind == report.MoveFailed {
			list = append(list, e)
		}
	}
	return list
}

func (r *statusReport) recentMovesValue() *goja.Object {
	moves := r.recentMoves()
	items := make([]any, len(moves))
	for i, e := range moves {
		o := r.host.JS.NewObject("ns", e.Namespace, "from", string(e.From), "to", string(e.To), "min", r.boundValue(e.Lower),
			"max", r.boundValue(e.Upper), "time", r.host.timeOrNull(e.Time), "tookMS", e.Took.Milliseconds())
		if e.Error == "" {
			script.Must(o.Set("bytes", e.Bytes))
		} else {
			script.Must(o.Set("error", e.Error))
		}
		items[i] = o
	}
	return r.host.JS.Runtime.NewArray(items...)
}

// boundValue returns a bound as a JavaScript value.
func (r *statusReport) boundValue(bound bson.Raw) goja.Value {
	if bound == nil {
		return goja.Null()
	}
	return r.host.JS.Values.DocToJS(bound)
}

func (r *statusReport) drawMoves(t *display.Tables) {
	moves := r.recentMoves()
	t.WriteHeading("Migrations")
	r.drawActiveOperations(t)
	if len(moves) > 0 {
		t.WriteHeading("Recent migrations")
		t.WriteGrid(moveRows(moves, r.now))
	}
	r.drawOutcomes(t)
}

// moveRows returns a row for each migration.
func moveRows(moves []report.Event, now time.Time) (header []string, rows [][]string) {
	for _, e := range moves {
		size, span := humanize.Bytes(e.Bytes), "?"
		if e.Error != "" {
			size = ""
		}
		if e.Lower != nil && e.Upper != nil {
			span = fmt.Sprintf("%s to %s", boundText(e.Lower), boundText(e.Upper))
		}
		rows = append(rows, []string{
			humanize.Duration(now.Sub(e.Time)), e.Namespace, span, string(e.From), string(e.To), size,
			humanize.Duration(e.Took), e.Error,
		})
	}
	return []string{"ago#", "collection", "range", "from", "to", "data#", "took#", "error"}, rows
}
