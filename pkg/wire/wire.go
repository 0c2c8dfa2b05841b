// Package wire holds the documents of the wire between Codex and the model: requests, response
// streams, the record of what passed, recorded sessions.
//
// It opens no connection, and it judges nothing: what is allowed is the gateway's rule, what is
// expected in a request is the identity's.
package wire

import (
	"crypto/sha256"
	"encoding/json"

	"github.com/recibo-ci/recibo/pkg/digest"
)

// Request is the body of one model request, as POST /v1/responses takes it
// (https://platform.openai.com/docs/api-reference/responses/create). It is not changed once
// parsed.
type Request struct {
	// Body is what came, byte for byte.
	Body  []byte
	Model string
	// Instructions is the field of that name; in code mode Codex sends a developer item instead.
	Instructions string
	Items        []Item
	// Tools are the tools offered, in order: those of the field `tools`, then those of each item
	// that brings some, as `additional_tools` does; namespaces are opened.
	Tools []Tool
	// Schema is the field `text.format`, nil when there is none.
	Schema json.RawMessage
	// Store is nil when the request does not say.
	Store              *bool
	Stream             bool
	Background         bool
	PreviousResponseID string
	// Conversation is the field as written: a string or an object.
	Conversation json.RawMessage
	// Effort is the field `reasoning.effort`.
	Effort string
	// Kind, Sandbox and CWD are what Codex says of itself: request_kind ("turn", "compaction")
	// and sandbox_mode of its turn metadata, and the last <cwd> of an environment item.
	Kind, Sandbox, CWD string
	// Outside names what the request only points at, so that the bytes the model reads are not
	// all in the body: `input_image.image_url` with a remote URL, file and vector store ids, item
	// references, stored prompts.
	Outside []string

	doc *document
	// offers are what ToolsSHA is taken over, in order.
	offers []offer
	// items are the indices of Items in doc, none for an input that is a string.
	items []int
}

// Item is one element of `input`.
type Item struct {
	Type, Role, ID, CallID, Name, Namespace string
	// Parts are the texts of the item, in order: its input_text and output_text parts, or the
	// string that stands for them in `content` or `output`.
	Parts []string
	// Other are the types of the parts that are not text, in order.
	Other []string
	Raw   json.RawMessage
}

// Tool is one tool that the model was offered.
type Tool struct {
	// Namespace are the names of the namespaces around it, the outermost first.
	Namespace []string
	// Type is "function" or "custom" for a tool Codex runs itself; others run at the provider.
	Type, Name string
	Raw        json.RawMessage
}

// Text names one text by digest and length.
type Text struct {
	SHA   digest.SHA256 `json:"sha"`
	Bytes int           `json:"bytes"`
}

// SHA is the digest of the body.
func (r *Request) SHA() digest.SHA256 { return digest.Of(r.Body) }

// InstructionsSHA is the digest of the field `instructions`, zero without one.
func (r *Request) InstructionsSHA() digest.SHA256 {
	if r.Instructions == "" {
		return digest.SHA256{}
	}
	return digest.Of([]byte(r.Instructions))
}

// ToolsSHA is the digest of what the model was offered: for each tool in order one line, ended by
// a newline, of canonical JSON (see Canonical): {"namespace":[…],"tool":{…}}. The list holds the
// namespace objects around the tool, outermost first and without their `tools`, since the model
// reads their descriptions too; "tool" is null for a namespace without tools. Zero when nothing
// was offered.
func (r *Request) ToolsSHA() digest.SHA256 {
	if len(r.offers) == 0 {
		return digest.SHA256{}
	}
	h := sha256.New()
	var line []byte
	for _, o := range r.offers {
		line = append(r.doc.offerLine(line[:0], o), '\n')
		h.Write(line)
	}
	return digest.SHA256(h.Sum(nil))
}

// SchemaSHA is the digest of the canonical form (see Canonical) of the schema in `text.format`, so
// that it equals the digest of the canonical form of the file it came from. Zero without one.
func (r *Request) SchemaSHA() digest.SHA256 {
	schema := r.doc.get(r.doc.get(r.doc.get(0, "text"), "format"), "schema")
	if schema < 0 {
		return digest.SHA256{}
	}
	return digest.Of(r.doc.canonical(nil, schema, ""))
}

// Texts returns digest and length of every text part of the items of role ("developer", "user"),
// in order.
func (r *Request) Texts(role string) []Text {
	var out []Text
	h := sha256.New()
	// A hash takes no strings, and converting each part would copy the whole history.
	buf := make([]byte, 4096)
	for _, item := range r.Items {
		if item.Role != role {
			continue
		}
		for _, part := range item.Parts {
			h.Reset()
			for rest := part; len(rest) > 0; {
				n := copy(buf, rest)
				h.Write(buf[:n])
				rest = rest[n:]
			}
			out = append(out, Text{SHA: digest.SHA256(h.Sum(nil)), Bytes: len(part)})
		}
	}
	return out
}
