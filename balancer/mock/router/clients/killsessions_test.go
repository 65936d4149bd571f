package clients_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

func TestKillSessionsEndsWhatRunsInThem(t *testing.T) {
	topology, err := mock.ParseTopology([]byte(`{"shards": [{"id": "a"}, {"id": "b"}], "settings": {"balancer": {"stopped": true}}, "collections": [{"ns": "x.y", "key": {"k": 1}, "chunks": [
	  {"shard": "a", "bytes": "900GB", "docs": 100}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := mock.New(mock.Config{Topology: topology, RealTime: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	x := &tester{T: t, Router: router.New(c, nil), Cluster: c}
	session := func(n byte) bson.D { return d("id", bson.Binary{Subtype: 4, Data: append(make([]byte, 15), n)}) }
	body, err := bson.Marshal(d("moveChunk", "x.y", "find", d("k", 1), "to", "b", "forceJumbo", true, "lsid", session(1)))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan bson.Raw, 1)
	go func() {
		ended <- x.Router.Handle(context.Background(), wire.Request{Database: "admin", Command: "moveChunk", Body: body, Client: &wire.ClientConn{}})
	}()
	for len(x.Migrations()) == 0 {
		time.Sleep(time.Millisecond)
	}
	x.OK("admin", d("killSessions", bson.A{session(2)}))
	select {
	case reply := <-ended:
		t.Fatalf("ended with another session: %s", reply)
	default:
	}
	x.OK("admin", d("killSessions", bson.A{session(1)}))
	if reply := <-ended; reply.Lookup("code").Int32() != 11601 {
		t.Errorf("answered %s", reply)
	}
	if code := x.Code("admin", d("killSessions", 1)); code != 14 {
		t.Errorf("code %d for a number", code)
	}
}
