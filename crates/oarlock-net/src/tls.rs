//! Encryption by TLS 1.3. Both ends show a certificate and check the other's.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use oarlock_ir::{Error, Kind, Result};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig, ServerConnection};

use super::fault;
use super::handshake::Outcome;
use super::options::TlsFiles;
use super::receive::Receiver;
use super::send::Sender;
use super::stream::{Cipher, Reading, Writing};

/// Encrypted bytes taken from the socket in one call.
const BUFFER: usize = 64 << 10;

/// The end that connects; the certificate of the other must be made out to `host`, unless the files say another name.
pub(super) fn client(files: &TlsFiles, host: &str) -> Result<Connection> {
    let name = files.name.as_deref().unwrap_or(host);
    let name = ServerName::try_from(name.to_owned()).map_err(|e| unusable(&format!("the name {name:?}"), &e))?;
    let config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(|e| unusable("the protocol", &e))?
        .with_root_certificates(authorities(files)?)
        .with_client_auth_cert(certificates(&files.cert)?, key(&files.key)?)
        .map_err(|e| unusable("certificate and key", &e))?;
    let client = ClientConnection::new(Arc::new(config), name).map_err(|e| unusable("the configuration", &e))?;
    Ok(client.into())
}

/// The end that accepts.
pub(super) fn server(files: &TlsFiles) -> Result<Connection> {
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(authorities(files)?), provider())
        .build()
        .map_err(|e| unusable("the certificates of the authorities", &e))?;
    let config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(|e| unusable("the protocol", &e))?
        .with_client_cert_verifier(verifier)
        .with_single_cert(certificates(&files.cert)?, key(&files.key)?)
        .map_err(|e| unusable("certificate and key", &e))?;
    let server = ServerConnection::new(Arc::new(config)).map_err(|e| unusable("the configuration", &e))?;
    Ok(server.into())
}

/// Exchanges keys and certificates; all that follows is encrypted.
pub(super) fn encrypt(
    session: Result<Connection>,
    send: &mut Sender,
    recv: &mut Receiver,
    deadline: Instant,
) -> std::result::Result<(), Outcome> {
    let session = session.map_err(Outcome::Refused)?;
    send.writer.set_deadline(deadline);
    recv.reading().set_deadline(deadline);
    let mut both = Both { reading: recv.reading(), writing: &mut send.writer };
    let cipher = shake_hands(session, &mut both).map_err(|e| failed(send.peer(), &e))?;
    recv.reading().set_cipher(cipher.clone());
    send.set_cipher(cipher);
    Ok(())
}

fn failed(peer: &str, e: &io::Error) -> Outcome {
    match e.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            Outcome::Gone(fault::insecure(peer, e))
        }
        _ => Outcome::Refused(fault::insecure(peer, e)),
    }
}

/// Both directions, as the handshake of TLS wants them.
struct Both<'a> {
    reading: &'a mut Reading,
    writing: &'a mut Writing,
}

impl Read for Both<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.reading.read(into)
    }
}

impl Write for Both<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writing.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn shake_hands(mut tls: Connection, socket: &mut (impl Read + Write)) -> io::Result<Arc<dyn Cipher>> {
    while tls.is_handshaking() {
        let (read, written) = tls.complete_io(socket)?;
        if read + written == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
    // What is given to `encrypt` is at once taken out again; there is no need for a limit.
    tls.set_buffer_limit(None);
    Ok(Arc::new(Session { tls: Mutex::new(tls), came: Mutex::new(Came::default()) }))
}

#[derive(Debug)]
struct Session {
    tls: Mutex<Connection>,
    /// Encrypted bytes that came and were not yet looked at. Only who receives locks it, and keeps it while it waits for the
    /// socket; `tls` is never locked for so long.
    came: Mutex<Came>,
}

/// Encrypted bytes, of which those from `at` on are left.
#[derive(Debug, Default)]
struct Came {
    bytes: Vec<u8>,
    at: usize,
}

impl Came {
    /// Reads more; false at the end.
    fn refill(&mut self, socket: &mut dyn Read) -> io::Result<bool> {
        self.at = 0;
        self.bytes.resize(BUFFER, 0);
        let read = socket.read(&mut self.bytes);
        self.bytes.truncate(*read.as_ref().unwrap_or(&0));
        Ok(read? > 0)
    }
}

impl Cipher for Session {
    fn decrypt(&self, socket: &mut dyn Read, into: &mut [u8]) -> io::Result<usize> {
        let mut came = locked(&self.came);
        loop {
            match locked(&self.tls).reader().read(into) {
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                // Frames say where they end: a peer that leaves without the farewell of TLS cannot truncate anything unnoticed.
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                done => return done,
            }
            if came.at == came.bytes.len() && !came.refill(socket)? {
                return Ok(0);
            }
            let mut tls = locked(&self.tls);
            let looked_at = tls.read_tls(&mut &came.bytes[came.at..])?;
            came.at += looked_at;
            tls.process_new_packets().map_err(|e| io::Error::new(ErrorKind::InvalidData, e))?;
        }
    }

    fn encrypt(&self, pieces: &[IoSlice<'_>], out: &mut Vec<u8>) -> io::Result<usize> {
        let mut tls = locked(&self.tls);
        let taken = tls.writer().write_vectored(pieces)?;
        while tls.wants_write() {
            tls.write_tls(out)?;
        }
        Ok(taken)
    }
}

/// A thread that panicked had its error; the connection can still be closed.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Those who vouch for peers.
fn authorities(files: &TlsFiles) -> Result<RootCertStore> {
    let path = files.ca.as_ref().unwrap_or(&files.cert);
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|e| unreadable(path, &e))?;
    }
    Ok(roots)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let list = CertificateDer::pem_file_iter(path).map_err(|e| unreadable(path, &e))?;
    let list: Vec<_> = list.collect::<std::result::Result<_, _>>().map_err(|e| unreadable(path, &e))?;
    if list.is_empty() {
        return Err(unreadable(path, &"it holds no certificate"));
    }
    Ok(list)
}

fn key(path: &Path) -> Result<PrivateKeyDer<'static>> {
    PrivateKeyDer::from_pem_file(path).map_err(|e| unreadable(path, &e))
}

fn unreadable(path: &Path, e: &dyn std::fmt::Display) -> Error {
    Error::new(Kind::Io, format!("{} cannot be used for TLS: {e}", path.display()))
        .help("OARLOCK_TLS_CERT, OARLOCK_TLS_KEY and OARLOCK_TLS_CA must be readable PEM files")
}

fn unusable(what: &str, e: &dyn std::fmt::Display) -> Error {
    Error::new(Kind::Argument, format!("{what} cannot be used for TLS: {e}"))
        .help("check the files of OARLOCK_TLS_CERT, OARLOCK_TLS_KEY and OARLOCK_TLS_CA, and OARLOCK_TLS_NAME")
}
