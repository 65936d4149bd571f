package failpoint_test

import (
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/routertest"
)

// withTestCommands is a router of a cluster that was started as for tests.
func withTestCommands(t *testing.T) *tester {
	t.Helper()
	return routertest.New(t, mock.Config{Topology: mock.DefaultTopology(1), Parameters: map[string]any{"enableTestCommands": true}})
}

func failCommand(mode any, data ...any) bson.D {
	return d("configureFailPoint", "failCommand", "mode", mode, "data", d(data...))
}

// A server that was not started for tests does not know the command.
func TestTestCommandsAreAskedFor(t *testing.T) {
	strict := d("testVersion2", 1, "apiVersion", "1", "apiStrict", true)
	x := routertest.NewThreeShards(t)
	for _, cmd := range []bson.D{failCommand("off"), d("testVersion2", 1), strict} {
		if code := x.Code("admin", cmd); code != 59 {
			t.Errorf("%v: code %d, want 59", cmd, code)
		}
		if list := x.OK("admin", d("listCommands", 1)); !list.Lookup("commands", cmd[0].Key).IsZero() {
			t.Errorf("%s is listed", cmd[0].Key)
		}
	}
	x = withTestCommands(t)
	x.OK("admin", d("testVersion2", 1, "apiVersion", "1"))
	if code := x.Code("admin", strict); code != 323 {
		t.Errorf("%v: code %d, want 323", strict, code)
	}
}

func TestFailCommand(t *testing.T) {
	find, named := bson.A{"find"}, d("name", "tool")
	tests := []struct {
		name  string
		point bson.D
		want  []int64 // codes of a find, one after the other
	}{
		{"twice", failCommand(d("times", 2), "failCommands", find, "errorCode", 91), []int64{91, 91, 0}},
		{"always", failCommand("alwaysOn", "failCommands", find, "errorCode", 91), []int64{91, 91, 91}},
		{"after two", failCommand(d("skip", 2), "failCommands", find, "errorCode", 91), []int64{0, 0, 91, 91}},
		{"never", failCommand(d("times", 0), "failCommands", find, "errorCode", 91), []int64{0}},
		{"surely", failCommand(d("activationProbability", 1), "failCommands", find, "errorCode", 91), []int64{91, 91}},
		{"other commands", failCommand("alwaysOn", "failCommands", bson.A{"insert", "ping"}, "errorCode", 91), []int64{0}},
		{"another application", failCommand("alwaysOn", "failCommands", find, "errorCode", 91, "appName", "other"), []int64{0}},
		{"this collection", failCommand("alwaysOn", "failCommands", find, "errorCode", 91, "namespace", "db.c"), []int64{91}},
		{"another collection", failCommand("alwaysOn", "failCommands", find, "errorCode", 91, "namespace", "db.d"), []int64{0}},
		{"off", failCommand("off"), []int64{0}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			x := withTestCommands(t)
			x.OK("admin", test.point)
			if got := x.CodesOfRuns(d("find", "c"), len(test.want)); !slices.Equal(got, test.want) {
				t.Errorf("codes %v, want %v", got, test.want)
			}
		})
	}
	t.Run("this application", func(t *testing.T) {
		x := withTestCommands(t)
		x.OK("admin", failCommand("alwaysOn", "failCommands", bson.A{"hello", "isMaster"}, "errorCode", 91, "appName", "tool"))
		for _, hello := range []string{"hello", "isMaster", "ismaster"} {
			if code := x.Code("admin", d(hello, 1, "client", d("application", named))); code != 91 {
				t.Errorf("%s of the application: code %d, want 91", hello, code)
			}
			x.OK("admin", d(hello, 1, "client", d("application", d("name", "other"))))
		}
	})
}

// A failed command has done nothing, and drivers are told whether they may send
// it again; a write concern error comes with a write that was carried out.
func TestFailCommandOnWrites(t *testing.T) {
	insert := func(id int) bson.D {
		return d("insert", "c", "documents", bson.A{d("_id", id)}, "lsid", d("id", bson.Binary{Subtype: 4, Data: make([]byte, 16)}), "txnNumber", int64(id))
	}
	inserts := bson.A{"insert"}
	tests := []struct {
		name    string
		point   bson.D
		label   string
		written int64
	}{
		{"retryable", failCommand("alwaysOn", "failCommands", inserts, "errorCode", 91), "RetryableWriteError", 0},
		{"not retryable", failCommand("alwaysOn", "failCommands", inserts, "errorCode", 11600+1), "", 0},
		{"labels of its own", failCommand("alwaysOn", "failCommands", inserts, "errorCode", 2, "errorLabels", bson.A{"Mine"}), "Mine", 0},
		{"no labels", failCommand("alwaysOn", "failCommands", inserts, "errorCode", 91, "errorLabels", bson.A{}), "", 0},
		{"write concern", failCommand("alwaysOn", "failCommands", inserts, "writeConcernError", d("code", 91, "errmsg", "x"),
			"errorLabels", bson.A{"RetryableWriteError"}), "RetryableWriteError", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			x := withTestCommands(t)
			x.OK("admin", test.point)
			reply := x.Run("db", insert(1))
			if label, _ := reply.Lookup("errorLabels", "0").StringValueOK(); label != test.label {
				t.Errorf("label %q, want %q: %s", label, test.label, reply)
			}
			if failed := !reply.Lookup("writeConcernError").IsZero(); failed != (test.written == 1) {
				t.Errorf("write concern error: %v", failed)
			}
			x.OK("admin", failCommand("off"))
			if n := x.OK("db", d("count", "c")).Lookup("n").AsInt64(); n != test.written {
				t.Errorf("%d documents, want %d", n, test.written)
			}
		})
	}
}

// A command that is held up longer than its maxTimeMS ends with that error, at
// that time.
func TestBlockedCommandMindsItsTime(t *testing.T) {
	x := withTestCommands(t)
	x.OK("admin", failCommand(d("times", 1), "failCommands", bson.A{"find"}, "blockConnection", true, "blockTimeMS", 3600000))
	if code := x.Code("db", d("find", "c", "maxTimeMS", 1)); code != 50 {
		t.Errorf("code %d, want 50", code)
	}
	if n := x.OK("admin", failCommand("off")).Lookup("count").AsInt64(); n != 1 {
		t.Errorf("it has struck %d times, want 1", n)
	}
}

// The same run has the same failures.
func TestProbabilityIsRepeatable(t *testing.T) {
	var runs [2][]int64
	for i := range runs {
		x := withTestCommands(t)
		x.OK("admin", failCommand(d("activationProbability", 0.5), "failCommands", bson.A{"find"}, "errorCode", 91))
		runs[i] = x.CodesOfRuns(d("find", "c"), 64)
	}
	if !slices.Equal(runs[0], runs[1]) || !slices.Contains(runs[0], 0) || !slices.Contains(runs[0], 91) {
		t.Errorf("codes %v, then %v", runs[0], runs[1])
	}
}

func TestFailPointsAreChecked(t *testing.T) {
	x := withTestCommands(t)
	x.CheckRefusals("admin", []routertest.Refusal{
		{d("configureFailPoint", "other", "mode", "alwaysOn"), 2},
		{failCommand("sometimes"), 2},
		{failCommand(1), 14},
		{failCommand(d("times", "x")), 14},
		{failCommand(d("times", -1)), 2},
		{failCommand(d("skip", -1)), 2},
		{failCommand(d("activationProbability", 2)), 2},
		{failCommand(d("some", 2)), 2},
		{d("configureFailPoint", "failCommand", "mode", "alwaysOn"), 14},
		{failCommand("alwaysOn", "errorCode", 1), 14},
	})
	if code := x.Code("db", failCommand("off")); code != 13 {
		t.Errorf("on another database: code %d, want 13", code)
	}
}

// The fail point of getMore strikes when the cursor is in hand. A change stream
// is told whether it may be opened again (the drivers' specification of
// resumable errors).
func TestFailGetMore(t *testing.T) {
	x := withTestCommands(t)
	fail := func(code int) bson.D {
		return d("configureFailPoint", "failGetMoreAfterCursorCheckout", "mode", d("times", 1), "data", d("errorCode", code))
	}
	x.OK("db", d("insert", "c", "documents", bson.A{d("_id", 1), d("_id", 2)}))
	plain := func() bson.D {
		id := x.OK("db", d("find", "c", "batchSize", 1)).Lookup("cursor", "id").AsInt64()
		return d("getMore", id, "collection", "c")
	}
	stream := func() bson.D { return d("getMore", x.Watch("db", "c", d()), "collection", "c") }
	for _, tt := range []struct {
		name    string
		getMore func() bson.D
		code    int
		label   string
	}{
		{"of a find", plain, 91, ""},
		{"of a stream", stream, 91, "ResumableChangeStreamError"},
		{"of a stream, a stale epoch", stream, 150, "ResumableChangeStreamError"},
		{"of a stream, for good", stream, 2, ""},
	} {
		more := tt.getMore()
		x.OK("admin", fail(tt.code))
		reply := x.Run("db", more)
		label, _ := reply.Lookup("errorLabels", "0").StringValueOK()
		if code := reply.Lookup("code").AsInt64(); code != int64(tt.code) || label != tt.label {
			t.Errorf("getMore %s: code %d with label %q, want %d with %q", tt.name, code, label, tt.code, tt.label)
		}
		x.OK("db", more)
	}
}
