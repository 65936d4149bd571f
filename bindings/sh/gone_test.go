package sh_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/mock/wire"
	"shardsh/bindings/shelltest"
)

// TestHelpersWhenTheConnectionIsGone: every helper says that, and says it after
// one wait for a server.
func TestHelpersWhenTheConnectionIsGone(t *testing.T) {
	const patience = 40 * time.Millisecond
	pipe := wire.NewPipe()
	_ = pipe.Close()
	c := shelltest.Connect(t)
	client, err := mongo.Connect(options.Client().SetDialer(pipe).ApplyURI(fmt.Sprintf(
		"mongodb://10.0.0.1:27017/?directConnection=true&serverSelectionTimeoutMS=%d", patience.Milliseconds())))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(t.Context()) })
	c.Config.Client = client
	calls := []string{"db.c.findOne()", "db.c.insertOne({})", "db.c.find().toArray()", "db.adminCommand({ping: 1})", "show dbs",
		"show shards", "show zones", "show balancer", "rs.status()", "db.c.getShardDistribution()", "db.getMongo().getDBNames()"}
	needNone := map[string]bool{"waitForDLock": true, "getBalancerLockDetails": true, "getBalancerHost": true, "getShardedDataDistribution": true}
	for _, name := range helperNames(t) {
		if strings.HasPrefix(name, "_") || needNone[name] {
			continue
		}
		var args []string
		for _, p := range helperHelp(t, name) {
			args = append(args, goodArgument(p))
		}
		if name == "presplit" {
			args[1] = "{perShard: 1}"
		}
		if name == "job" {
			args = []string{`"drain"`, `"start"`, `{shard: "a"}`}
		}
		call := fmt.Sprintf("sh.%s(%s)", name, strings.Join(args, ", "))
		if name == "chunks" {
			call += ".toArray()"
		}
		calls = append(calls, call)
	}
	for _, call := range calls {
		c.Renew(t)
		began := time.Now()
		got, failed := c.Show(call)
		took := time.Since(began)
		if !failed || !strings.HasPrefix(got, "MongoServerSelectionError: connect ECONNREFUSED 10.0.0.1:27017") {
			t.Errorf("%s shows %s", call, got)
		}
		if took > 2*patience+time.Second {
			t.Errorf("%s took %s", call, took)
		}
	}
}

// goodArgument returns an argument a helper takes, by its name.
func goodArgument(parameter string) string {
	if a, known := argumentsOf[parameter]; known {
		return a.good
	}
	others := map[string]string{"on": "true", "url": `"rs/h:1"`, "pings": "[{_id: 1, ping: new Date()}]", "start": `"22:00"`, "stop": `"6:00"`,
		"timeout": "1000", "interval": "10", "unique": "false", "changes": "c => c.addShard()", "journal": `"plan.journal"`, "before": "sh.snapshot()"}
	if v, known := others[parameter]; known {
		return v
	}
	return "undefined"
}
