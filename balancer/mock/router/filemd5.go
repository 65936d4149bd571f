package router

import (
	"cmp"
	"context"
	"crypto/md5" //nolint:gosec // it is the hash that the command returns
	"encoding/hex"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mongoerr"
)

// fileMD5 hashes a file of GridFS, which is the data of its chunks in their order.
// A file that is not there is an empty one.
func fileMD5(c *call) (bson.D, error) {
	find, err := bson.Marshal(bson.D{
		{Key: "find", Value: cmp.Or(args.Text(c.body.Lookup("root")), "fs") + ".chunks"},
		{Key: "filter", Value: bson.D{{Key: "files_id", Value: bson.D{{Key: "$eq", Value: c.body.Lookup(c.invoked)}}}}},
		{Key: "sort", Value: bson.D{{Key: "n", Value: 1}}},
	})
	if err != nil {
		return nil, err
	}
	of := *c
	of.body, of.invoked = bodyOf(find, nil), "find"
	q, err := outside(c, func(context.Context) (query, error) { return findQuery(&of) })
	if err != nil {
		return nil, err
	}
	found, err := queried(&of, q)
	if err != nil {
		return nil, err
	}
	return outside(c, func(ctx context.Context) (bson.D, error) {
		chunks, err := found.all(ctx)
		if err != nil {
			return nil, err
		}
		hash := md5.New() //nolint:gosec // see above
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

// fileChunkMissing is the code where the numbers of chunks have a gap.
const fileChunkMissing mongoerr.Code = 10040
