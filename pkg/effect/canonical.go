package effect

import (
	"bytes"
	"fmt"
)

// Canonical returns the bytes that Digest is of. Texts are preceded by their length in bytes, so
// that no text can pass for structure; every line ends in a newline:
//
//	recibo effects 1
//	name NAME
//	repository OWNER/NAME
//	pull NUMBER
//	head SHA
//	mode inline | summary
//	lead LENGTH
//	TEXT
//	tail LENGTH
//	TEXT
//
// then for each finding, in order, either of
//
//	comment FINGERPRINT SIDE START END PATH-LENGTH TEXT-LENGTH ITEM-LENGTH
//	body FINGERPRINT ITEM-LENGTH
//
// followed by path, comment and item, or by the item alone. The item of a comment counts, since
// it stands in the body when GitHub refuses the comment.
func (p *Plan) Canonical() []byte {
	var b bytes.Buffer
	mode := "inline"
	if p.in.Summary {
		mode = "summary"
	}
	fmt.Fprintf(&b, "recibo effects 1\nname %s\nrepository %s\npull %d\nhead %s\nmode %s\n", p.in.Name, p.in.Repository, p.in.Pull, p.in.Head, mode)
	fmt.Fprintf(&b, "lead %d\n%s\ntail %d\n%s\n", len(p.in.Lead), p.in.Lead, len(p.in.Tail), p.in.Tail)
	for i, f := range p.in.Findings {
		if !p.inline[i] {
			fmt.Fprintf(&b, "body %s %d\n%s\n", hex(f.Fingerprint), len(f.Item), f.Item)
			continue
		}
		r, text := p.places[i].Range, p.comment(i)
		fmt.Fprintf(&b, "comment %s %s %d %d %d %d %d\n%s\n%s\n%s\n", hex(f.Fingerprint), r.Side, r.Start, r.End, len(r.Path), len(text), len(f.Item), r.Path, text, f.Item)
	}
	return b.Bytes()
}
