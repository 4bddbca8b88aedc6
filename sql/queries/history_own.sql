-- As history_all, of 5 a uid, and only under 6 a user name
.as history_all WHERE uid = ?5 AND user = ?6
