package node

import (
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

//go:embed bytes.js
var bytesSource string

//go:embed web.js
var webSource string

// bytesGlobal returns one of the globals that bytes.js defines: Buffer, TextEncoder, TextDecoder.
func (s *Globals) bytesGlobal(name string) goja.Value {
	return s.fromSource("<bytes>", bytesSource, name)
}

// webGlobal returns one of the globals that web.js defines: events, abort signals, atob.
func (s *Globals) webGlobal(name string) goja.Value { return s.fromSource("<web>", webSource, name) }

// fromSource returns a member of the table that a JavaScript source of the shell builds from the
// conversions of bytes.
func (s *Globals) fromSource(file, text, name string) goja.Value {
	return s.JS.Classes.BuildOnce(file, func() *goja.Object {
		v, err := s.JS.Runtime.RunScript(file, text)
		s.JS.Check(err)
		build, _ := goja.AssertFunction(v)
		encode := s.JS.Runtime.ToValue(func(fc goja.FunctionCall) goja.Value {
			return s.JS.Runtime.ToValue(s.JS.Runtime.NewArrayBuffer(encodeText(fc.Argument(0).String(),
				fc.Argument(1).String())))
		})
		decode := s.JS.Runtime.ToValue(func(fc goja.FunctionCall) goja.Value {
			data, _ := fc.Argument(0).Export().([]byte)
			return s.JS.Runtime.ToValue(decodeBytes(data, fc.Argument(1).String()))
		})
		table, err := build(goja.Undefined(), encode, decode)
		s.JS.Check(err)
		return table.(*goja.Object)
	}).Get(name)
}

// encodeText converts a string to bytes. Invalid hex and base64 end at the first invalid character, as
// in Node.
func encodeText(text, encoding string) []byte {
	switch strings.ToLower(encoding) {
	case "hex":
		data := make([]byte, len(text)/2)
		n, _ := hex.Decode(data, []byte(text[:len(text)/2*2]))
		return data[:n]
	case "base64", "base64url":
		text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
		data := make([]byte, base64.RawStdEncoding.DecodedLen(len(text)))
		n, _ := base64.RawStdEncoding.Decode(data, []byte(text))
		return data[:n]
	case "latin1", "binary", "ascii":
		var data []byte
		for _, r := range text {
			data = append(data, byte(r))
		}
		return data
	}
	return []byte(text)
}

func decodeBytes(data []byte, encoding string) string {
	switch strings.ToLower(encoding) {
	case "hex":
		return hex.EncodeToString(data)
	case "base64":
		return base64.StdEncoding.EncodeToString(data)
	case "base64url":
		return base64.RawURLEncoding.EncodeToString(data)
	case "latin1", "binary", "ascii":
		runes := make([]rune, len(data))
		for i, b := range data {
			runes[i] = rune(b)
		}
		return string(runes)
	}
	return strings.ToValidUTF8(string(data), "\uFFFD")
}

// newBuffer returns a Buffer of bytes.
func (s *Globals) newBuffer(data []byte) goja.Value {
	b, err := s.JS.Runtime.New(s.bytesGlobal("Buffer"), s.JS.Runtime.ToValue(s.JS.Runtime.NewArrayBuffer(data)))
	s.JS.Check(err)
	return b
}

// textOrBytesArg returns the bytes of an argument that is a string, in an encoding, or bytes.
func (c *call) textOrBytesArg(i int, encoding string) string {
	if o := c.Object(i); o != nil {
		if data, ok := o.Export().([]byte); ok {
			return string(data)
		}
	}
	return string(encodeText(c.Text(i), encoding))
}

// encoding returns the encoding that an argument names, or that it has among its options; empty for none.
func (c *call) encoding(i int) string {
	if o := c.Object(i); o != nil {
		return script.OptionalText(script.Property(o, "encoding"))
	}
	return script.OptionalText(c.Arg(i))
}
