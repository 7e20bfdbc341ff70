//! What an endpoint takes beside text.

use dunlin_host::display::size;

use super::{Media, MediaKind};

/// What an endpoint and its model take beside text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Takes {
    /// Whether the model reads pictures, as far as known.
    pub images: bool,
    /// Whether it reads PDF documents, as far as known.
    pub documents: bool,
    /// The longest picture that the endpoint takes, in bytes of base64.
    pub image_base64: usize,
}

/// Why something is not sent to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnsupportedMedia {
    #[error("this model takes no images")]
    Images,
    #[error("this model takes no PDF documents")]
    Documents,
    #[error("this server takes images of at most {}", size(*.0 as u64 / 4 * 3))]
    TooLarge(usize),
}

impl Takes {
    /// Text alone.
    pub const NOTHING: Takes = Takes {
        images: false,
        documents: false,
        image_base64: usize::MAX,
    };

    /// Everything that there is.
    pub const ALL: Takes = Takes {
        images: true,
        documents: true,
        image_base64: usize::MAX,
    };

    /// Whether this is sent.
    ///
    /// # Errors
    /// Why it is not.
    pub fn check(&self, media: &Media) -> Result<(), UnsupportedMedia> {
        match media.about().format.kind() {
            MediaKind::Image if !self.images => Err(UnsupportedMedia::Images),
            MediaKind::Image if media.base64().len() > self.image_base64 => {
                Err(UnsupportedMedia::TooLarge(self.image_base64))
            }
            MediaKind::Document if !self.documents => Err(UnsupportedMedia::Documents),
            MediaKind::Image | MediaKind::Document => Ok(()),
        }
    }
}
