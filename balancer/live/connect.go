package live

import (
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/busypoll"
)

// Connect is like mongo.Connect, with connections that poll briefly for replies before they sleep. It does
// not change settings.
func Connect(settings *options.ClientOptions) (*mongo.Client, error) {
	o := *settings
	o.Dialer = busypoll.NewDialer(o.Dialer)
	return mongo.Connect(&o)
}
