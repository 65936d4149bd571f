package wire

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// compressor is the number of a way to compress, as OP_COMPRESSED has it.
type compressor byte

const (
	noCompressor compressor = iota // a message as it is
	bySnappy
	byZlib
	byZstd
)

// compressorNames returns those of hello, in the order of a server's default.
func compressorNames() []string { return []string{"snappy", "zstd", "zlib"} }

// CommonCompressors returns the compressors among a client's that this package
// has, in the client's order.
func CommonCompressors(offered []string) []string {
	var common []string
	for _, name := range offered {
		if slices.Contains(compressorNames(), name) && !slices.Contains(common, name) {
			common = append(common, name)
		}
	}
	return common
}

const (
	// compressedHeaderBytes come before the compressed message: its opcode, its
	// size without the header, and the compressor.
	compressedHeaderBytes = 9
	// maxSnappyRatio is what snappy can't exceed: 64 bytes take three.
	maxSnappyRatio = 22
	// zstdWindowBytes is the largest window taken; drivers use 8 MiB.
	zstdWindowBytes = 8 << 20
)

// inflatedBytes is how large an OP_COMPRESSED says its message to be.
func inflatedBytes(payload []byte) int32 {
	if len(payload) < compressedHeaderBytes {
		return 0
	}
	return int32(binary.LittleEndian.Uint32(payload[4:]))
}

// inflate takes the message out of an OP_COMPRESSED. It is no larger than the
// limit, and memory is set aside only as it comes out.
func inflate(h header, payload []byte, limit int32) (header, []byte, compressor, error) {
	if len(payload) < compressedHeaderBytes {
		return h, nil, 0, malformed("OP_COMPRESSED cut short")
	}
	op := opcode(binary.LittleEndian.Uint32(payload))
	size := int32(binary.LittleEndian.Uint32(payload[4:]))
	by, data := compressor(payload[8]), payload[compressedHeaderBytes:]
	if op == opCompressed || !op.isKnown() {
		return h, nil, 0, malformed("OP_COMPRESSED of opcode %d", op)
	}
	if size < 0 || size > limit-headerBytes {
		return h, nil, 0, malformed("OP_COMPRESSED of %d bytes", size)
	}
	out, err := by.inflate(data, int(size))
	if err != nil {
		return h, nil, 0, malformed("OP_COMPRESSED: %s", err)
	}
	h.op, h.length = op, headerBytes+size
	return h, out, by, nil
}

var (
	errInflatedSize      = errors.New("the message has another size than it says")
	errUnknownCompressor = errors.New("unknown compressor")
)

func (c compressor) inflate(data []byte, size int) ([]byte, error) {
	switch c {
	case bySnappy:
		n, err := snappy.DecodedLen(data)
		if err == nil && (n != size || n > maxSnappyRatio*len(data)) {
			err = errInflatedSize
		}
		if err != nil {
			return nil, err
		}
		return snappy.Decode(nil, data)
	case byZlib:
		r, err := zlib.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		return readExactly(r, size)
	case byZstd:
		r, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(zstdWindowBytes))
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return readExactly(r, size)
	}
	return nil, fmt.Errorf("%w: %d", errUnknownCompressor, c)
}

// readExactly reads so many bytes, after which there must be no more.
func readExactly(r io.Reader, size int) ([]byte, error) {
	out, err := readPayload(r, size)
	if err != nil {
		return nil, err
	}
	if n, err := r.Read(make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) {
		return nil, errInflatedSize
	}
	return out, nil
}

// compressorPools pools compressors: creating one costs more than using
// it. The zero value is ready.
type compressorPools struct{ zlib, zstd sync.Pool }

// deflate makes an OP_COMPRESSED of a whole message, appended to an empty dst.
func (p *compressorPools) deflate(c compressor, dst, message []byte) ([]byte, error) {
	h, payload := parseHeader(message), message[headerBytes:]
	dst = appendHeader(dst, h.requestID, h.responseTo, opCompressed)
	dst = appendInt32(appendInt32(dst, int32(h.op)), int32(len(payload)))
	dst = append(dst, byte(c))
	var err error
	switch c {
	case bySnappy:
		dst = append(dst, snappy.Encode(nil, payload)...)
	case byZlib:
		dst, err = p.appendZlib(dst, payload)
	case byZstd:
		dst, err = p.appendZstd(dst, payload)
	default:
		err = fmt.Errorf("%w: %d", errUnknownCompressor, c)
	}
	return finishMessage(dst), err
}

func (p *compressorPools) appendZlib(dst, payload []byte) ([]byte, error) {
	to := &appender{dst}
	z, kept := p.zlib.Get().(*zlib.Writer)
	if !kept {
		z = zlib.NewWriter(to)
	}
	z.Reset(to)
	if _, err := z.Write(payload); err != nil {
		return dst, err
	}
	if err := z.Close(); err != nil {
		return dst, err
	}
	p.zlib.Put(z)
	return to.b, nil
}

func (p *compressorPools) appendZstd(dst, payload []byte) ([]byte, error) {
	z, kept := p.zstd.Get().(*zstd.Encoder)
	if !kept {
		var err error
		z, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
			zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<20))
		if err != nil {
			return dst, err
		}
	}
	dst = z.EncodeAll(payload, dst)
	p.zstd.Put(z)
	return dst, nil
}

// appender writes to the end of a slice.
type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}
