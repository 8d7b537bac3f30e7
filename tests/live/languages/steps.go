// Go's own client (net/http): does the steps that it reads, a line each, on one
// client, and tells how each ended (test_languages.py).
//
// SPDX-License-Identifier: BSD-2-Clause
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
)

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func parts(file []byte) ([]byte, string) {
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	part, err := w.CreateFormFile("file", "a.bin")
	must(err)
	_, err = part.Write(file)
	must(err)
	must(w.Close())
	return out.Bytes(), w.FormDataContentType()
}

func main() {
	client := &http.Client{}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		step := strings.Split(in.Text(), "\t")
		method, contentType := step[0], step[2]
		var body []byte
		var err error
		if step[3] != "-" {
			body, err = os.ReadFile(step[3])
			must(err)
		}
		if method == "UPLOAD" {
			method = "POST"
			body, contentType = parts(body)
		}
		request, err := http.NewRequest(method, step[1],
			bytes.NewReader(body))
		must(err)
		if contentType != "-" {
			request.Header.Set("Content-Type", contentType)
		}
		answer, err := client.Do(request)
		must(err)
		got, err := io.ReadAll(answer.Body)
		must(err)
		must(answer.Body.Close())
		front := got
		if len(front) > 600 {
			front = front[:600]
		}
		fmt.Println(answer.StatusCode, len(got),
			base64.StdEncoding.EncodeToString(front))
	}
}
