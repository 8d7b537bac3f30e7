/*
 * Java's own client (java.net.http): does the steps that it reads, a line each,
 * on one client, and tells how each ended (test_languages.py).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Base64;

public class Steps {
    static final String BOUNDARY = "----boundary-of-java";

    static byte[] parts(byte[] file) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(("--" + BOUNDARY + "\r\nContent-Disposition: form-data; "
            + "name=\"file\"; filename=\"a.bin\"\r\nContent-Type: "
            + "application/octet-stream\r\n\r\n").getBytes());
        out.write(file);
        out.write(("\r\n--" + BOUNDARY + "--\r\n").getBytes());
        return out.toByteArray();
    }

    public static void main(String[] arguments) throws Exception {
        HttpClient client = HttpClient.newBuilder()
            .followRedirects(HttpClient.Redirect.NORMAL).build();
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null;) {
            String[] step = line.split("\t");
            String method = step[0], type = step[2];
            BodyPublisher body = BodyPublishers.noBody();
            if (!step[3].equals("-")) {
                byte[] file = Files.readAllBytes(Path.of(step[3]));
                body = BodyPublishers.ofByteArray(
                    method.equals("UPLOAD") ? parts(file) : file);
            }
            if (method.equals("UPLOAD")) {
                method = "POST";
                type = "multipart/form-data; boundary=" + BOUNDARY;
            }
            HttpRequest.Builder request =
                HttpRequest.newBuilder(URI.create(step[1]))
                    .method(method, body);
            if (!type.equals("-")) {
                request.header("Content-Type", type);
            }
            HttpResponse<byte[]> answer =
                client.send(request.build(), BodyHandlers.ofByteArray());
            byte[] got = answer.body();
            System.out.println(answer.statusCode() + " " + got.length + " "
                + Base64.getEncoder().encodeToString(
                    Arrays.copyOf(got, Math.min(got.length, 600))));
        }
    }
}
