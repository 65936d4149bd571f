package servers

import (
	"cmp"
	"context"
	"crypto/md5"
	"encoding/hex"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/router/reads"
	"shardsh/balancer/mongoerr"
)

// fileMD5 returns the hash of a GridFS file, which is the data of its chunks in order. A file that does
// not exist counts as empty.
func fileMD5(c *call.Call) (bson.D, error) {
	find, err := bson.Marshal(bson.D{
		{Key: "find", Value: cmp.Or(args.Text(c.Body.Lookup("root")), "fs") + ".chunks"},
		{Key: "filter", Value: bson.D{{Key: "files_id", Value: bson.D{{Key: "$eq", Value: c.Body.Lookup(c.InvokedAs)}}}}},
		{Key: "sort", Value: bson.D{{Key: "n", Value: 1}}},
	})
	if err != nil {
		return nil, err
	}
	findCall := *c
	findCall.Body, findCall.InvokedAs = call.NewBody(find, nil), "find"
	q, err := call.WithoutLock(c, func(context.Context) (call.Query, error) { return call.FindQuery(&findCall) })
	if err != nil {
		return nil, err
	}
	found, err := reads.OpenQuery(&findCall, q)
	if err != nil {
		return nil, err
	}
	return call.WithoutLock(c, func(ctx context.Context) (bson.D, error) {
		chunks, err := found.All(ctx)
		if err != nil {
			return nil, err
		}
		hash := md5.New() //nolint:gosec // the command is defined as MD5
		for i, chunk := range chunks {
			n, _ := args.Number(chunk.Lookup("n"))
			_, data, isBinary := chunk.Lookup("data").BinaryOK()
			if !isBinary || n != float64(i) {
				return nil, mongoerr.New(fileChunkMissing, "chunk %d of the file is not there", i)
			}
			hash.Write(data)
		}
		return bson.D{
			{Key: "numChunks", Value: int32(len(chunks))}, {Key: "md5", Value: hex.EncodeToString(hash.Sum(nil))},
		}, nil
	})
}

// fileChunkMissing is the error code for a gap in the chunk numbers.
const fileChunkMissing mongoerr.Code = 10040
