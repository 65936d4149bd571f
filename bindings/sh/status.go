package sh

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/live"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// The number of a collection's chunks and zones that sh.status() shows without verbose.
const (
	maxStatusChunks  = 20
	maxStatusZones   = 20
	mongosActiveSpan = 60 * time.Second // a mongos with an older ping is not active
	tooManyText      = "too many %s to print, use verbose if you want to force print"
)

// statusReport collects the sections of sh.status() (rules/04-objects §5.4).
type statusReport struct {
	host    *Host
	d       *server.Database // the destination of commands
	config  *server.Database
	verbose bool
	now     time.Time

	cluster     *clusterView
	entriesRead map[string]map[string][]bson.Raw // chunks and tags by namespace
}

// statusParts are the parts of the cluster that sh.status() reads, besides the routers, and the first
// chunks and zones of each collection.
const statusParts = live.Settings | live.Balancer | live.WindowClock | live.Shards | live.Databases | live.Collections |
	live.ChunkCounts | live.Sizes | live.Rounds | live.MigrationOutcomes | live.RunningMigrations | live.Leases

// readStatusReport reads parts of a cluster for a report.
func (h *Host) readStatusReport(d, config *server.Database, parts live.Part) *statusReport {
	r := &statusReport{host: h, d: d, config: config, now: h.JS.Clock.Now()}
	r.cluster = h.readCluster(d, config, live.ReaderOptions{Parts: parts, OutcomeSpan: outcomesSpan,
		Required: lenientParts})
	return r
}

func (h *Host) shardingStatus(d, config *server.Database, o StatusOptions) goja.Value {
	version := config.FindOne("version", bson.D{}, maxTimeField, bson.E{Key: "projection", Value: bson.D{
		{Key: "minCompatibleVersion", Value: int32(0)}, {Key: "excluding", Value: int32(0)},
		{Key: "upgradeId", Value: int32(0)}, {Key: "upgradeState", Value: int32(0)},
	}})
	if version == nil {
		h.JS.ThrowCoded(script.InvalidInputErrorName, script.CodeNoMongos,
			"This db does not have sharding enabled. Be sure you are connecting to a mongos from the shell and not to a mongod.")
	}
	parts := statusParts
	if h.Display.ShowsTables() {
		parts |= live.Unsharded | live.RunningReshardings // their chunks are included in the chunk counts of shards
	}
	r := h.readStatusReport(d, config, parts)
	r.verbose = o.Verbose
	value := h.JS.Runtime.NewObject()
	section := func(name string, v any) { script.Must(value.Set(name, v)) }
	section("shardingVersion", withoutFields(h.JS.Values.DocToJS(version), "currentVersion"))
	section("shards", h.JS.DocumentArray(sortedByID(r.documents("shards"))))
	name, mongoses := r.mongoses()
	section(name, mongoses)
	section("autosplit", r.autosplit())
	if automerge := r.setting("automerge"); automerge != nil {
		section("automerge", h.JS.NewObject("Currently enabled", yesNo(rawdoc.IsFieldTruthy(automerge, "enabled"))))
	}
	section("balancer", r.balancer())
	if p := r.cluster.Parts(); (p.Lease != nil || p.RunsPause != nil && p.RunsPause.Active) && !h.Compat {
		section("shardsh", r.runs(p.Lease, p.RunsPause))
	}
	section("shardedDataDistribution", r.dataDistribution())
	section("databases", r.databases())
	result := h.Display.StatsResult(value)
	if o.MongoshLayout {
		return result
	}
	return h.Display.WithTable(value, r.draw)
}

// runs returns the pause of runs, the run that changes the cluster, and the collections whose
// balancing that run has disabled.
func (r *statusReport) runs(l *catalog.Lease, p *catalog.RunsPause) goja.Value {
	var doc bson.D
	if p != nil && p.Active {
		doc = bson.D{{Key: "runs are paused", Value: p.String()}}
	}
	if l == nil {
		return r.host.JS.Values.DocToJS(rawdoc.MustMarshal(doc))
	}
	doc = append(doc, bson.E{Key: "run", Value: l.Holder()}, bson.E{Key: "running", Value: yesNo(l.Running)})
	if !l.Since.IsZero() {
		doc = append(doc, bson.E{Key: "since", Value: l.Since})
	}
	if len(l.PausedCollections) > 0 {
		doc = append(doc, bson.E{Key: "balancing disabled", Value: humanize.AbbreviateCollections(l.PausedCollections)})
		if !l.Running {
			doc = append(doc, bson.E{Key: "to enable it", Value: "sh.balance({ giveBack: true })"})
		}
	}
	return r.host.JS.Values.DocToJS(rawdoc.MustMarshal(doc))
}

// documents returns the stored documents of a small config collection.
func (r *statusReport) documents(collection string) []bson.Raw {
	return r.cluster.Parts().Config[collection]
}

// sortedByID returns documents sorted by _id.
func sortedByID(docs []bson.Raw) []bson.Raw {
	return slices.SortedStableFunc(slices.Values(docs), func(a, b bson.Raw) int {
		return strings.Compare(rawdoc.Text(a, "_id"), rawdoc.Text(b, "_id"))
	})
}

// setting returns a document of config.settings; nil if there is none.
func (r *statusReport) setting(id string) bson.Raw { return configDocument(r.cluster, "settings", id) }

// shardedEntries returns the catalog entries of the sharded collections.
func (r *statusReport) shardedEntries() []bson.Raw {
	return slices.DeleteFunc(slices.Clone(r.documents("collections")), func(doc bson.Raw) bool {
		return rawdoc.IsFieldTruthy(doc, "unsplittable")
	})
}

// collectionOf returns the state of the collection of an entry.
func (r *statusReport) collectionOf(entry bson.Raw) *catalog.CollectionState {
	return r.cluster.Collection(rawdoc.Text(entry, "_id"))
}

func withoutFields(o *goja.Object, names ...string) *goja.Object {
	for _, n := range names {
		script.Must(o.Delete(n))
	}
	return o
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func (r *statusReport) autosplit() *goja.Object {
	doc := r.setting("autosplit")
	return r.host.JS.NewObject("Currently enabled", yesNo(doc == nil || rawdoc.IsFieldTruthy(doc, "enabled")))
}

func (r *statusReport) mongoses() (section string, value any) {
	s := r.host
	section, recent, newest := r.recentMongoses()
	if newest == nil {
		return section, "none"
	}
	if r.verbose {
		return section, s.JS.DocumentArray(r.config.FindAll("mongos", recent, server.SortField("ping", -1), maxTimeField))
	}
	groups := r.mongosVersions(recent)
	items := make([]any, len(groups))
	for i, g := range groups {
		items[i] = s.JS.NewObject(rawdoc.Text(g, "_id"), s.JS.Values.ToJS(g.Lookup("num")))
	}
	return section, s.JS.Runtime.NewArray(items...)
}

// recentMongoses returns a filter for the routers that pinged at about the time of the newest ping, and
// a name that says how long ago that was. newest is nil if no router has ever pinged.
func (r *statusReport) recentMongoses() (name string, filter bson.D, newest bson.Raw) {
	name = "most recently active mongoses"
	first := r.config.FindAll("mongos", bson.D{}, server.SortField("ping", -1), server.LimitField(1), maxTimeField)
	if len(first) == 0 {
		return name, nil, nil
	}
	ping, _ := first[0].Lookup("ping").TimeOK()
	if ping.After(r.now.Add(-mongosActiveSpan)) {
		name = "active mongoses"
	}
	return name, bson.D{{Key: "ping", Value: bson.D{{Key: "$gt", Value: ping.Add(-mongosActiveSpan)}}}}, first[0]
}

// mongosVersions counts routers by their version.
func (r *statusReport) mongosVersions(filter bson.D) []bson.Raw {
	counts := map[string]int32{}
	for _, doc := range r.config.FindAll("mongos", filter, maxTimeField) {
		counts[rawdoc.Text(doc, "mongoVersion")]++
	}
	var list []bson.Raw
	for _, version := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, rawdoc.MustMarshal(bson.D{{Key: "_id", Value: version}, {Key: "num", Value: counts[version]}}))
	}
	slices.SortStableFunc(list, func(a, b bson.Raw) int {
		return cmp.Compare(b.Lookup("num").Int32(), a.Lookup("num").Int32())
	})
	return list
}

func (r *statusReport) balancer() *goja.Object {
	s := r.host
	settings := r.setting("balancer")
	o := s.JS.NewObject("Currently enabled", yesNo(settings == nil || !rawdoc.IsFieldTruthy(settings, "stopped")),
		"Currently running", r.runningText())
	failed := s.failedRounds(r.cluster)
	script.Must(o.Set("Failed balancer rounds in last 5 attempts", failed.count))
	if failed.count > 0 {
		script.Must(o.Set("Last reported error", failed.message))
		script.Must(o.Set("Time of Reported error", failed.when))
	}
	if window, ok := settings.Lookup("activeWindow").DocumentOK(); ok {
		text := fmt.Sprintf("%s and %s server local time", s.plainText(window.Lookup("start")),
			s.plainText(window.Lookup("stop")))
		script.Must(o.Set("Balancer active window is set between", text))
	}
	if active := listedMigrations(r.cluster); len(active) > 0 {
		items := make([]any, len(active))
		for i, m := range active {
			items[i] = migrationText(m)
		}
		script.Must(o.Set("Collections with active migrations", s.JS.Runtime.NewArray(items...)))
	}
	script.Must(o.Set("Migration Results for the last 24 hours", r.migrationResults()))
	return o
}

func (h *Host) plainText(v bson.RawValue) string {
	if v.Type == 0 {
		return "undefined"
	}
	return h.JS.Values.ToJS(v).String()
}

func (r *statusReport) runningText() string {
	if unreadReason(r.cluster, "balancer") != "" {
		return "unknown"
	}
	return yesNo(r.cluster.Parts().Balancer.InRound)
}

// migrationResults counts the outcomes of the migrations of a day. The old form is an object whose keys
// are the counts, and loses one of two equal counts; it is used only with Compat.
func (r *statusReport) migrationResults() any {
	s := r.host
	results := recentOutcomes(r.cluster)
	if len(results) == 0 {
		return "No recent migrations"
	}
	if s.Compat {
		o := s.JS.Runtime.NewObject()
		for _, m := range results {
			script.Must(o.Set(fmt.Sprint(m.Count), outcomeLine(m)))
		}
		return o
	}
	items := make([]any, len(results))
	for i, m := range results {
		item := s.JS.NewObject("result", outcomeText(m), "count", m.Count)
		if m.From != "" {
			script.Must(item.Set("from", string(m.From)))
			script.Must(item.Set("to", string(m.To)))
		}
		items[i] = item
	}
	return s.JS.Runtime.NewArray(items...)
}

func (r *statusReport) dataDistribution() goja.Value {
	if !r.cluster.hasSizes() {
		return goja.Undefined()
	}
	return r.host.JS.DocumentArray(r.cluster.raw["shardedDataDistribution"])
}

// databases returns every database with its sharded collections.
func (r *statusReport) databases() goja.Value {
	s := r.host
	byName := map[string]bson.Raw{"config": configEntry()}
	for _, doc := range r.documents("databases") {
		byName[rawdoc.Text(doc, "_id")] = doc
	}
	collections := map[string][]bson.Raw{}
	for _, doc := range r.shardedEntries() {
		name, _, _ := strings.Cut(rawdoc.Text(doc, "_id"), ".")
		collections[name] = append(collections[name], doc)
		if byName[name] == nil {
			byName[name] = rawdoc.MustMarshal(bson.D{{Key: "_id", Value: name}})
		}
	}
	var names []string
	for name := range byName {
		names = append(names, name)
	}
	slices.SortFunc(names, plaintext.CompareNames)
	items := make([]any, len(names))
	for i, name := range names {
		list := s.JS.Runtime.NewObject()
		for _, doc := range collections[name] {
			script.Must(list.Set(rawdoc.Text(doc, "_id"), r.collection(doc)))
		}
		items[i] = s.JS.NewObject("database", s.JS.Values.DocToJS(byName[name]), "collections", list)
	}
	return s.JS.Runtime.NewArray(items...)
}

// configEntry returns an entry for the config database, which config.databases does not list.
func configEntry() bson.Raw {
	return rawdoc.MustMarshal(bson.D{{Key: "_id", Value: "config"}, {Key: "primary", Value: "config"},
		{Key: "partitioned", Value: true}})
}

func (r *statusReport) collection(entry bson.Raw) *goja.Object {
	s := r.host
	o := s.JS.NewObject(
		"shardKey", s.JS.Values.ToJS(entry.Lookup("key")),
		"unique", r.flag(entry, "unique", false),
		"balancing", r.flag(entry, "noBalance", true),
		"allowMigrations", !catalog.IsFalse(entry.Lookup("permitMigrations")) &&
			!catalog.IsFalse(entry.Lookup("allowMigrations")),
	)
	c := r.collectionOf(entry)
	owners := c.Owners()
	perShard := make([]any, len(owners))
	for i, id := range owners {
		perShard[i] = s.JS.NewObject("shard", string(id), "nChunks", c.CountOn(id).Chunks)
	}
	script.Must(o.Set("chunkMetadata", s.JS.Runtime.NewArray(perShard...)))
	script.Must(o.Set("chunks", r.chunks(c)))
	script.Must(o.Set("tags", r.listEntries("tags", r.entriesOf("tags", c.Namespace), maxStatusZones, r.zone)))
	return o
}

// flag returns a field of the catalog that should be a boolean. Other values are shown in addition to
// their meaning.
func (r *statusReport) flag(entry bson.Raw, field string, negated bool) goja.Value {
	v, err := entry.LookupErr(field)
	on := err == nil && catalog.IsTruthyInJS(v)
	shown := r.host.JS.Runtime.ToValue(on != negated)
	if err != nil || v.Type == bson.TypeBoolean {
		return shown
	}
	return r.host.JS.Runtime.NewArray(shown, r.host.JS.NewObject(field, r.host.JS.Values.ToJS(v)))
}

func (r *statusReport) chunk(doc bson.Raw) *goja.Object {
	w := r.host.JS.Values
	o := r.host.JS.NewObject(
		"min", w.ToJS(doc.Lookup("min")),
		"max", w.ToJS(doc.Lookup("max")),
		"on shard", w.ToJS(doc.Lookup("shard")),
		"last modified", w.ToJS(doc.Lookup("lastmod")),
	)
	if rawdoc.IsFieldTruthy(doc, "jumbo") {
		script.Must(o.Set("jumbo", "yes"))
	}
	return w.SetOneLine(o)
}

func (r *statusReport) zone(doc bson.Raw) *goja.Object {
	w := r.host.JS.Values
	return w.SetOneLine(r.host.JS.NewObject(
		"tag", w.ToJS(doc.Lookup("tag")), "min", w.ToJS(doc.Lookup("min")), "max", w.ToJS(doc.Lookup("max"))))
}
