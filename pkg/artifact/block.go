package artifact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/fault"
)

const (
	// blockMax is how many bytes are sent at once; two blocks are held in memory. A blob may have
	// 50,000 of them.
	blockMax = 8 << 20
	// blobAnswerMax bounds what the blob store may answer to a block.
	blobAnswerMax = 64 << 10
)

// send packs u's files, sends the zip to the address in blocks and commits it. It returns the
// digest and the length of the zip.
func (s *Service) send(ctx context.Context, to *url.URL, u Upload) (digest.SHA256, int64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sent := &blob{service: s, to: to}
	stage := newStager(s.block, func(block []byte) error { return sent.put(ctx, block) })
	hash := sha256.New()
	if err := writeZip(io.MultiWriter(hash, stage), u); err != nil {
		// What is on its way is of no use any more.
		cancel(err)
		if lost := stage.Close(); lost != nil && errors.Is(err, lost) {
			// Packing stopped because sending did.
			err = lost
		}
		return digest.SHA256{}, 0, err
	}
	if err := stage.Close(); err != nil {
		return digest.SHA256{}, 0, err
	}
	if err := sent.commit(ctx); err != nil {
		return digest.SHA256{}, 0, err
	}
	return digest.SHA256(hash.Sum(nil)), sent.size, nil
}

// blob is a blob being staged, block by block, as Azure's Put Block and Put Block List describe
// it. The address holds all that the store needs to know of us: the token never goes there.
type blob struct {
	service *Service
	to      *url.URL
	ids     []string
	size    int64
}

// put stages the next block. Staging it again under the same id replaces it, so that a retry does
// no harm.
func (b *blob) put(ctx context.Context, block []byte) error {
	id := blockID(len(b.ids))
	header := http.Header{"Content-Type": {"application/octet-stream"}}
	query := "comp=block&blockid=" + url.QueryEscape(id)
	if err := b.write(ctx, query, header, block); err != nil {
		return remote(ctx, err, "send block %d of the artifact: %w", len(b.ids)+1, err)
	}
	b.ids = append(b.ids, id)
	b.size += int64(len(block))
	return nil
}

// commit makes the blob of the staged blocks, in order.
func (b *blob) commit(ctx context.Context) error {
	var list bytes.Buffer
	list.WriteString(`<?xml version="1.0" encoding="utf-8"?><BlockList>`)
	for _, id := range b.ids {
		list.WriteString("<Latest>" + id + "</Latest>")
	}
	list.WriteString("</BlockList>")
	header := http.Header{"Content-Type": {"application/xml"}}
	// What downloads say of themselves; without it clients would not unpack them.
	header.Set("x-ms-blob-content-type", "application/zip")
	if err := b.write(ctx, "comp=blocklist", header, list.Bytes()); err != nil {
		return remote(ctx, err, "commit the artifact's %d blocks: %w", len(b.ids), err)
	}
	return nil
}

func (b *blob) write(ctx context.Context, query string, header http.Header, body []byte) error {
	to := *b.to
	// The signed part stays as it stands, byte for byte.
	to.RawQuery = joinQuery(to.RawQuery, query)
	_, err := b.service.retry(ctx, func() error {
		res, err := b.service.exchange(ctx, request{http.MethodPut, &to, header, body, blobAnswerMax, blobTime})
		if err != nil {
			return err
		}
		return b.service.judge(res, http.StatusCreated, b.service.foreign(res.header.Get("x-ms-error-code"), &to))
	})
	return err
}

func joinQuery(a, b string) string {
	if a == "" {
		return b
	}
	return a + "&" + b
}

// blockID is the id of the n-th block: Azure wants base64, and all of one length.
func blockID(n int) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%09d", n))
}

// remote gives an error of the blob store its kind; a cancellation has none.
func remote(ctx context.Context, err error, format string, args ...any) error {
	if ctx.Err() != nil {
		return fmt.Errorf(format, args...)
	}
	hint := "run the job again; the files are still where they were written"
	if status := statusOf(err); status == http.StatusForbidden {
		hint = "let the runner reach the artifact store (" + strconv.Itoa(status) + "), then run the job again"
	}
	return fault.New(fault.Remote, hint, format, args...)
}
